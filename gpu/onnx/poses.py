"""Poses: MoveNet on a square around each person. gpu/worker/src/pose.js has the same rules."""

import numpy as np

import pictures

JOINTS = 17
MARGIN = 1.25
MIN_PERSON_SCORE = 0.3
MAX_POSES = 8
# Distance in cells at which a place counts half as much as one at no distance: of the published model.
NEAR = 1.8


class Estimator:
    def __init__(self, session, manifest):
        self.session, self._rules = session, manifest.input

    def prepare(self, picture, box):
        """Returns the square around a box in pixels, and the input of the model."""
        height, width = picture.shape[:2]
        x1, y1, x2, y2 = box * np.array([width, height] * 2)
        side = MARGIN * max(x2 - x1, y2 - y1)
        square = (x1 + x2 - side) / 2, (y1 + y2 - side) / 2, side
        return square, pictures.crop(picture, square, self._rules)

    def joints(self, maps, square, picture):
        """Finds the body in the middle: x, y in shares of the frame and the score of each joint.

        A joint is where its heat is high, near the place that the body's middle points to."""
        center, heat, regress, offset = maps
        rows, columns = center.shape[1:]
        middle = np.unravel_index(center[0].argmax(), (rows, columns))
        y, x = regress.reshape(JOINTS, 2, rows, columns)[:, :, middle[0], middle[1]].T + np.array(middle)[:, None]
        down, right = np.mgrid[:rows, :columns]
        near = np.hypot(right - x[:, None, None], down - y[:, None, None]) + NEAR
        cells = (heat / near).reshape(JOINTS, -1).argmax(1)
        row, column = np.unravel_index(cells, (rows, columns))
        joint = np.arange(JOINTS)
        exact = offset.reshape(JOINTS, 2, rows, columns)[joint, :, row, column]
        across, along = (column + exact[:, 1]) / columns, (row + exact[:, 0]) / rows
        height, width = picture.shape[:2]
        left, top, side = square
        found = np.stack([(left + across * side) / width, (top + along * side) / height, heat[joint, row, column]], 1)
        return np.clip(found, 0, 1)
