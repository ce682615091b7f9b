"""Tracks: the same number for the same object from frame to frame."""

from dataclasses import dataclass

import numpy as np

from visualwords.boxes import intersection_over_union

__all__ = ["Track", "Tracker"]

MEASURED = 1 / 30  # standard deviation of a detection's middle and size, in heights of the object
MOVING = 1 / 160  # of the change of its velocity from one frame to the next, likewise
AT_FIRST = 1 / 4  # of its velocity when it is first seen
GROWING = 1 / 120  # of the change of its size from one frame to the next
LEAST_LIKELY = -40.0  # twice the log likelihood of a detection, of one where it was expected: 0


@dataclass
class Track:
    """One object, followed by a Kalman filter for each of middle x, middle y, width and height.

    The four are filtered apart, each with its velocity: constant but for noise, and zero for the
    width and height.

    Attributes
    ----------
    number : int
        From 1 on; 0 until the object has been seen often enough.
    place, velocity : (4,) float64
        Of middle x, middle y, width, height; in pixels, and pixels per frame.
    variances : (3, 4) float64
        Of place, of velocity, and the covariance of both.
    n_seen, n_missed : int
        Frames with a detection, and frames since the last one.
    """

    number: int
    place: np.ndarray
    velocity: np.ndarray
    variances: np.ndarray
    n_seen: int = 1
    n_missed: int = 0

    @classmethod
    def of(cls, box_xyxy: np.ndarray) -> "Track":
        """Begin a track with a detection."""
        place = _as_place(box_xyxy)
        deviations = [[MEASURED] * 4, [AT_FIRST, AT_FIRST, 0, 0], [0] * 4]
        return cls(0, place, np.zeros(4), (place[3] * np.array(deviations)) ** 2)

    @property
    def box_xyxy(self) -> np.ndarray:
        """Where the object is believed to be, (4,)."""
        middle, half = self.place[:2], self.place[2:] / 2
        return np.concatenate([middle - half, middle + half])

    def predict(self, elapsed: float) -> None:
        """Move on by a number of frames.

        x ← x + t v; P ← F P Fᵀ + Q with F = [[1, t], [0, 1]].
        """
        place, velocity, both = self.variances
        height = self.place[3]
        self.place = self.place + elapsed * self.velocity
        place = place + 2 * elapsed * both + elapsed**2 * velocity
        both = both + elapsed * velocity
        noise = np.array([[0, 0, GROWING, GROWING], [MOVING, MOVING, 0, 0], [0] * 4])
        self.variances = np.stack([place, velocity, both]) + elapsed * (noise * height) ** 2
        self.n_missed += 1

    def likelihoods(self, boxes_xyxy: np.ndarray) -> np.ndarray:
        """The likelihood that detections (n, 4) show the object, (n,).

        −Σ ((z − H x)² / S + log(S / R)) over the four coordinates, S = H P Hᵀ + R: twice the log
        likelihood, where the highest that any track can have is 0.
        """
        seen = np.array([_as_place(box) for box in boxes_xyxy]).reshape(-1, 4)
        noise = (MEASURED * seen[:, 3:]) ** 2
        total = self.variances[0] + noise
        return -((seen - self.place) ** 2 / total + np.log(total / noise)).sum(axis=1)

    def correct(self, box_xyxy: np.ndarray) -> None:
        """Take a detection into account.

        With the gain K = P Hᵀ / (H P Hᵀ + R): x ← x + K (z − H x), P ← (I − K H) P.
        """
        place, velocity, both = self.variances
        seen = _as_place(box_xyxy)
        total = place + (MEASURED * seen[3]) ** 2
        gain, gain_of_velocity = place / total, both / total
        wrong = seen - self.place
        self.place = self.place + gain * wrong
        self.velocity = self.velocity + gain_of_velocity * wrong
        self.variances = np.stack(
            [(1 - gain) * place, velocity - gain_of_velocity * both, (1 - gain) * both]
        )
        self.n_seen += 1
        self.n_missed = 0


class Tracker:
    """Gives detections of successive frames the numbers of the objects they show.

    This is SORT [1]_: every track predicts where its object is in the next frame; detections that
    overlap a prediction are assigned to tracks so that they are most likely together (Hungarian
    method); the others begin tracks of their own.

    Parameters
    ----------
    min_overlap : float, default 0.3
        Least intersection over union of a detection with the prediction of its track.
    min_hits : int, default 3
        Detections in successive frames before an object gets a number.
    max_age : float, default 30
        Frames without a detection after which an object is forgotten.

    Attributes
    ----------
    tracks : list of Track
    n_numbers : int
        Objects that have been given a number.

    Notes
    -----
    Deviations from the paper: detections are assigned by their likelihood under the filters rather
    than by overlap, which tells a large person from a smaller one where both overlap a detection,
    and one seen a moment ago from one long hidden; the filter's state is the middle and the size of
    the box rather than area and aspect ratio, with noise in proportion to its height; objects are
    remembered for ``max_age`` frames instead of one; confirmed tracks are assigned before the
    others; numbers are given when a track is confirmed, so that false detections use up few.

    References
    ----------
    .. [1] A. Bewley, Z. Ge, L. Ott, F. Ramos, B. Upcroft: Simple online and realtime tracking.
       ICIP 2016.

    Examples
    --------
    >>> tracker = Tracker(min_hits=2)
    >>> [tracker.update(np.array([[x, 0, x + 20, 60.0]])).tolist() for x in (0, 3, 6)]
    [[0], [1], [1]]
    """

    def __init__(self, *, min_overlap: float = 0.3, min_hits: int = 3, max_age: float = 30) -> None:
        if not (0 < min_overlap < 1 and min_hits >= 1 and max_age >= 1):
            needed = "needed are an overlap between 0 and 1, and numbers of frames from 1 on"
            given = f"min_overlap={min_overlap}, min_hits={min_hits}, max_age={max_age}"
            raise ValueError(f"{given}; {needed}")
        self.min_overlap, self.min_hits, self.max_age = min_overlap, min_hits, max_age
        self.tracks: list[Track] = []
        self.n_numbers = 0

    def update(self, boxes_xyxy: np.ndarray, elapsed: float = 1.0) -> np.ndarray:
        """Take the detections of the next frame.

        Parameters
        ----------
        boxes_xyxy : (n, 4)
        elapsed : float
            Frames since the last call; more than 1 where frames were dropped.

        Returns
        -------
        (n,) int64
            The number of each detection's object; 0 for one that has none yet.
        """
        boxes = np.asarray(boxes_xyxy, np.float64).reshape(-1, 4)
        for track in self.tracks:
            track.predict(elapsed)
        owner: dict[int, Track] = {}
        for confirmed in (True, False):
            group = [track for track in self.tracks if bool(track.number) == confirmed]
            self._assign(group, boxes, owner)
        self.tracks = [t for t in self.tracks if t.n_missed <= (self.max_age if t.number else 0)]
        for k in set(range(len(boxes))) - owner.keys():
            owner[k] = Track.of(boxes[k])
            self.tracks.append(owner[k])
        for k in sorted(owner):
            if not owner[k].number and owner[k].n_seen >= self.min_hits:
                self.n_numbers += 1
                owner[k].number = self.n_numbers
        return np.array([owner[k].number for k in range(len(boxes))], np.int64)

    def forget(self) -> None:
        """End all tracks, for another video; its numbers go on from here."""
        self.tracks = []

    def _assign(self, tracks: list[Track], boxes: np.ndarray, owner: dict[int, Track]) -> None:
        """Assign the detections that are left over to tracks."""
        from scipy.optimize import linear_sum_assignment  # half a second that images do without

        left = [k for k in range(len(boxes)) if k not in owner]
        if not tracks or not left:
            return
        predicted = np.array([track.box_xyxy for track in tracks])
        overlaps = intersection_over_union(predicted, boxes[left]) >= self.min_overlap
        likely = np.array([track.likelihoods(boxes[left]) for track in tracks]) - LEAST_LIKELY
        gains = np.where(overlaps, np.maximum(likely, 0), 0)
        for row, column in zip(*linear_sum_assignment(gains, maximize=True)):
            if gains[row, column]:
                tracks[row].correct(boxes[left[column]])
                owner[left[column]] = tracks[row]


def _as_place(box_xyxy: np.ndarray) -> np.ndarray:
    """Middle x, middle y, width, height; sides of at least a pixel."""
    low, high = box_xyxy[:2], box_xyxy[2:]
    return np.concatenate([(low + high) / 2, np.maximum(high - low, 1.0)])
