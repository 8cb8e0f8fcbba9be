/**
 * The model's classes in COCO order, by class index.
 * @type {readonly string[]}
 */
export const VOCABULARY = Object.freeze([
  'person', 'bicycle', 'car', 'motorcycle', 'airplane', 'bus', 'train', 'truck', 'boat', 'traffic light',
  'fire hydrant', 'stop sign', 'parking meter', 'bench', 'bird', 'cat', 'dog', 'horse', 'sheep', 'cow',
  'elephant', 'bear', 'zebra', 'giraffe', 'backpack', 'umbrella', 'handbag', 'tie', 'suitcase', 'frisbee',
  'skis', 'snowboard', 'sports ball', 'kite', 'baseball bat', 'baseball glove', 'skateboard', 'surfboard',
  'tennis racket', 'bottle', 'wine glass', 'cup', 'fork', 'knife', 'spoon', 'bowl', 'banana', 'apple',
  'sandwich', 'orange', 'broccoli', 'carrot', 'hot dog', 'pizza', 'donut', 'cake', 'chair', 'couch',
  'potted plant', 'bed', 'dining table', 'toilet', 'tv', 'laptop', 'mouse', 'remote', 'keyboard', 'cell phone',
  'microwave', 'oven', 'toaster', 'sink', 'refrigerator', 'book', 'clock', 'vase', 'scissors', 'teddy bear',
  'hair drier', 'toothbrush',
]);

/** Class index of the only class that has a pose. */
export const PERSON = 0;

/**
 * The eleven basic color terms of English (Berlin and Kay).
 * @type {readonly string[]}
 */
export const COLORS = Object.freeze([
  'black', 'white', 'red', 'green', 'yellow', 'blue', 'brown', 'orange', 'pink', 'purple', 'gray',
]);

/** Number of parts of the box of a person, from the top, with colors of their own. */
export const QUARTERS = 4;

/**
 * The columns of the COLORS output: the colors of the box and, for a person, those of each
 * quarter ("red/2" is red in the second one from the top).
 * @type {readonly string[]}
 */
export const COLUMNS = Object.freeze([
  ...COLORS, ...Array.from({ length: QUARTERS }, (_, q) => COLORS.map((name) => `${name}/${q + 1}`)).flat(),
]);

/** Joints of a body in COCO order: the length of a KEYPOINTS row. */
export const JOINTS = 17;

const indexOf = new Map(VOCABULARY.map((name, index) => [name, index]));

/**
 * @param {string} term
 * @returns {number} class index, or -1 when the model does not know the term
 */
export function classOf(term) {
  return indexOf.get(term) ?? -1;
}
