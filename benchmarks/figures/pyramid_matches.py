"""A picture of the correspondences that the pyramid match finds between two views of a cat.

python -m benchmarks.figures.pyramid_matches docs/images/pyramid-match-cat.jpg
"""

import sys

import cv2
import numpy as np
from PIL import Image
from skimage import data

from visualwords.codebook import FeatureSetEncoder, draw_matches, match_points
from visualwords.features import DenseSIFT


def main():
    cat = data.chelsea()
    height, width = cat.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), 12, 0.85)
    other = cv2.warpAffine(cat, turn, (width, height), borderMode=cv2.BORDER_REFLECT)
    other = np.clip(other * 0.8 + 20, 0, 255).astype(np.uint8)[:, 40:]
    features = DenseSIFT(bin_size=8, step=16).transform([cat, other])
    sets = FeatureSetEncoder(n_components=6, skip_blank=False).fit_transform(features)
    matches = match_points(sets[0], sets[1], side=sets.side, finest_level=3)
    picture = draw_matches(cat, other, features[0], features[1], matches, max_matches=45)
    Image.fromarray(picture).save(sys.argv[1], quality=80)
    for level in np.unique(matches.levels):
        print(f"level {level}: {np.sum(matches.levels == level)} pairs")


if __name__ == "__main__":
    main()
