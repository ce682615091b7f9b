"""Pictures of a detector's work: boxes, score maps, cascade stages, evidence."""

import colorsys
from collections.abc import Sequence

import cv2
import numpy as np

from visualwords.apps.detection.levels import Level, Search
from visualwords.apps.detection.scanning import Stage
from visualwords.apps.detection.window_evidence import WindowEvidence
from visualwords.apps.explanation.evidence_pictures import overlay

__all__ = ["draw_detections", "draw_evidence", "draw_score_maps", "draw_survivors"]

Trace = Sequence[tuple[Level, list[Stage]]]

SURE, UNSURE, DARK, WHITE = (31, 158, 61), (240, 160, 0), (20, 24, 28), (255, 255, 255)
FONT = cv2.FONT_HERSHEY_SIMPLEX
MOST_BOXES = 60  # of a panel; more are drawn as dots
GAP = 8  # pixels between panels
ENLARGED = 3  # of a window, to look at its evidence


def draw_detections(
    image: np.ndarray,
    boxes_xyxy: np.ndarray,
    confidences: np.ndarray,
    tracks: np.ndarray | None = None,
) -> np.ndarray:
    """Return the image in colour with a box and its confidence in percent for every detection.

    Tracked objects have their number instead, and a colour of their own.

    Examples
    --------
    >>> picture = draw_detections(np.zeros((90, 90), np.uint8), np.array([[9, 9, 40, 80]]), [0.9])
    >>> picture.shape, tuple(picture[40, 9].tolist()) == SURE
    ((90, 90, 3), True)
    """
    picture = _in_color(image)
    thickness = max(1, round(min(picture.shape[:2]) / 240))
    numbers = np.zeros(len(boxes_xyxy), int) if tracks is None else tracks
    for box, confidence, number in zip(boxes_xyxy, confidences, numbers):
        x0, y0, x1, y1 = (int(v) for v in np.rint(box))
        color = SURE if confidence >= 0.5 else UNSURE
        color, text = (
            (_color_of(number), f"#{number}") if number else (color, f"{100 * confidence:.0f}")
        )
        cv2.rectangle(picture, (x0, y0), (x1, y1), color, thickness)
        _label(picture, text, (x0, y0), color)
    return picture


def _color_of(track: int) -> tuple[int, int, int]:
    """Return a dark colour; successive numbers get hues far apart."""
    red, green, blue = colorsys.hsv_to_rgb(0.618034 * track % 1, 0.9, 0.65)
    return round(255 * red), round(255 * green), round(255 * blue)


def draw_score_maps(image: np.ndarray, trace: Trace, search: Search, most: int = 6) -> np.ndarray:
    """Return the first stage's scores of all windows, one panel for each scale.

    A pixel of a map is the window that has its middle there; blue is low and red is high, on one
    scale for all panels.

    Parameters
    ----------
    image : ndarray
    trace : what ``PedestrianDetector.detect`` appended to its ``trace``
    search : Search
    most : int
        Panels; scales between are left out.
    """
    shown = [
        (level, stages[0].scores)
        for level, stages in trace
        if stages and stages[0].scores is not None
    ]
    last = max(len(shown) - 1, 0)
    chosen = [shown[i] for i in np.unique(np.linspace(0, last, most).astype(int)) if shown]
    every = np.concatenate([np.zeros(1), *(scores[np.isfinite(scores)] for _, scores in chosen)])
    low, high = np.percentile(every, [5, 100])
    panels = []
    for level, scores in chosen:
        share = np.clip((scores - low) / max(high - low, 1e-9), 0, 1)
        heat = cv2.applyColorMap((share * 255).astype(np.uint8), cv2.COLORMAP_TURBO)[:, :, ::-1]
        panel = _backdrop(image, 0.5)
        _paste_map(panel, heat, level, search)
        panels.append(_titled(panel, f"scale {level.scale_xy[0]:.2f}: {scores.size:,} windows"))
    return _tiled(panels or [_in_color(image)])


def draw_survivors(image: np.ndarray, trace: Trace, search: Search) -> np.ndarray:
    """Return the boxes that passed each stage of the cascade, one panel for each stage."""
    names = [stage.name for stage in trace[0][1]] if trace else []
    panels = []
    for k, name in enumerate(names):
        panel = _backdrop(image, 0.6)
        passed = [(level, stage) for level, stages in trace for stage in stages[k :: len(names)]]
        n_in = sum(stage.n_windows for _, stage in passed)
        boxes = [search.boxes(level, stage.survivors_yx) for level, stage in passed]
        _draw_many(panel, np.vstack(boxes))
        n_out = sum(map(len, boxes))
        panels.append(_titled(panel, f"{name}: {n_in:,} -> {n_out:,}"))
    return _tiled(panels or [_in_color(image)])


def draw_evidence(evidence: WindowEvidence) -> np.ndarray:
    """Return the window, and the evidence for (red) and against (blue) the object."""
    window = _in_color(evidence.window)
    limit = max(float(np.percentile(np.abs(m), 99)) for m in evidence.maps.values()) or 1.0
    maps = [overlay(window, heat, limit) for heat in evidence.maps.values()]
    titles = ["window", *(f"{name} {score:+.2f}" for name, score in evidence.scores.items())]
    panels = [
        _titled(cv2.resize(p, None, fx=ENLARGED, fy=ENLARGED, interpolation=cv2.INTER_NEAREST), t)
        for p, t in zip([window, *maps], titles)
    ]
    return _tiled(panels, columns=len(panels))


def _in_color(image: np.ndarray) -> np.ndarray:
    return cv2.cvtColor(image, cv2.COLOR_GRAY2RGB) if image.ndim == 2 else image.copy()


def _backdrop(image: np.ndarray, brightness: float) -> np.ndarray:
    grey = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return _in_color((grey * brightness).astype(np.uint8))


def _paste_map(panel: np.ndarray, heat: np.ndarray, level: Level, search: Search) -> None:
    """Paste a map over the centres of its windows."""
    rows, columns = heat.shape[:2]
    last = np.array([rows - 1, columns - 1]) * search.stride
    ends = search.boxes(level, np.array([[0, 0], last]))
    (x0, y0), (x1, y1) = ((box[:2] + box[2:]) / 2 for box in ends)
    half_x, half_y = (search.stride / 2 / scale for scale in level.scale_xy)
    left, right = round(max(x0 - half_x, 0)), round(min(x1 + half_x, panel.shape[1]))
    top, bottom = round(max(y0 - half_y, 0)), round(min(y1 + half_y, panel.shape[0]))
    size_wh = max(right - left, 1), max(bottom - top, 1)
    part = panel[top : top + size_wh[1], left : left + size_wh[0]]
    part[:] = cv2.resize(heat, part.shape[1::-1], interpolation=cv2.INTER_NEAREST)


def _draw_many(panel: np.ndarray, boxes_xyxy: np.ndarray) -> None:
    """Draw boxes where they are few, else dots in their centres."""
    for x0, y0, x1, y1 in np.rint(boxes_xyxy).astype(int).tolist():
        if len(boxes_xyxy) <= MOST_BOXES:
            cv2.rectangle(panel, (x0, y0), (x1, y1), SURE, 1)
        else:
            cv2.circle(panel, ((x0 + x1) // 2, (y0 + y1) // 2), 1, SURE, -1)


def _label(
    picture: np.ndarray, text: str, corner: tuple[int, int], color: tuple[int, int, int]
) -> None:
    size = max(0.4, min(picture.shape[:2]) / 900)
    (width, height), _ = cv2.getTextSize(text, FONT, size, 1)
    x, y = max(corner[0], 0), max(corner[1], height + 5)
    cv2.rectangle(picture, (x, y - height - 5), (x + width + 4, y), color, -1)
    cv2.putText(picture, text, (x + 2, y - 3), FONT, size, WHITE, 1, cv2.LINE_AA)


def _titled(panel: np.ndarray, title: str) -> np.ndarray:
    bar = np.full((22, panel.shape[1], 3), DARK, np.uint8)
    cv2.putText(bar, title, (5, 15), FONT, 0.42, WHITE, 1, cv2.LINE_AA)
    return np.vstack([bar, panel])


def _tiled(panels: Sequence[np.ndarray], columns: int = 2) -> np.ndarray:
    height, width = panels[0].shape[:2]
    rows = -(-len(panels) // columns)
    columns = min(columns, len(panels))
    sheet = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3), 255, np.uint8)
    for k, panel in enumerate(panels):
        y, x = k // columns * (height + GAP), k % columns * (width + GAP)
        sheet[y : y + height, x : x + width] = panel
    return sheet
