"""Manifests: TOML files that describe a model. doc.go lists their fields."""

import hashlib
import tomllib
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path


class ManifestError(Exception):
    """A manifest is wrong, or does not fit its model."""


@dataclass
class Input:
    name: str
    size: list = field(default_factory=list)
    longest: int = 0
    step: int = 1
    strip: int = 0
    fit: str = "center"
    enlarge: bool = True
    pad: int = 0
    layout: str = "NCHW"
    colors: str = "RGB"
    white: float = 1.0
    mean: list = field(default_factory=lambda: [0.0, 0.0, 0.0])
    std: list = field(default_factory=lambda: [1.0, 1.0, 1.0])


@dataclass
class Output:
    decode: str
    names: list
    activation: str = "none"
    boxes: str = "center"
    units: str = "pixels"
    transposed: bool = False
    cell: int = 4
    least: float = 0.05
    most: int = 100
    overlap: float = 1.0
    inside: float = 1.0


@dataclass
class Terms:
    tokenizer: str
    names: list
    length: int
    prompt: str = "{}"


@dataclass
class Manifest:
    weights: str
    license: str
    file: str
    sha256: str
    input: Input
    output: Output
    labels: list | str = field(default_factory=list)
    terms: Terms | None = None


# The values that a field may have, and the number of outputs of each way to decode.
CHOICES = {
    "fit": ("center", "corner", "stretch"),
    "layout": ("NCHW", "NHWC"),
    "colors": ("RGB", "BGR"),
    "activation": ("none", "sigmoid", "softmax"),
    "boxes": ("center", "corners"),
    "units": ("pixels", "share"),
}
OUTPUTS = {"centernet": 2, "detr": 2, "yolo": 1, "movenet": 4}


def load(path):
    """Reads a manifest and the model beside it. Returns the manifest, its labels as a list, and
    the bytes of the model. Raises ManifestError."""
    path = Path(path)
    try:
        manifest = _make(Manifest, tomllib.loads(path.read_text()), "")
        _check(manifest)
        if isinstance(manifest.labels, str):
            manifest.labels = (path.parent / manifest.labels).read_text().splitlines()
        if any("," in label for label in manifest.labels):
            raise ManifestError("labels: a name must not have a comma")
        if manifest.terms:
            manifest.terms.tokenizer = str(path.parent / manifest.terms.tokenizer)
        model = (path.parent / manifest.file).read_bytes()
        found = hashlib.sha256(model).hexdigest()
        if found != manifest.sha256:
            raise ManifestError(f"sha256: {manifest.file} has {found}, must be {manifest.sha256}")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ManifestError) as error:
        raise ManifestError(f"{path}: {error}") from error
    return manifest, model


def _make(kind, table, place):
    """Makes a dataclass of a table: with all its fields, and with no others."""
    known = {f.name: f for f in fields(kind)}
    for name in table:
        if name not in known:
            raise ManifestError(f"{place}{name}: unknown field")
    values = {}
    for name, f in known.items():
        if name not in table:
            if f.default is MISSING and f.default_factory is MISSING:
                raise ManifestError(f"{place}{name}: required")
            continue
        value = table[name]
        nested = {"input": Input, "output": Output, "terms": Terms}.get(name) if kind is Manifest else None
        wanted = dict if nested else (list, str) if name == "labels" else (int, float) if f.type is float else f.type
        if not isinstance(value, wanted) or isinstance(value, bool) and f.type is not bool:
            raise ManifestError(f"{place}{name}: wrong type")
        values[name] = _make(nested, value, f"{name}.") if nested else value
    return kind(**values)


def _check(manifest):
    for place in ("input", "output"):
        for name, value in vars(getattr(manifest, place)).items():
            if name in CHOICES and value not in CHOICES[name]:
                raise ManifestError(f"{place}.{name}: must be one of {', '.join(CHOICES[name])}")
    out, put = manifest.output, manifest.input
    if out.decode not in OUTPUTS:
        raise ManifestError(f"output.decode: must be one of {', '.join(OUTPUTS)}")
    if len(out.names) != OUTPUTS[out.decode]:
        raise ManifestError(f"output.names: {out.decode} has {OUTPUTS[out.decode]} outputs")
    if bool(put.size) == bool(put.longest):
        raise ManifestError("input: give size or longest")
    if put.size and (len(put.size) != 2 or not all(type(n) is int and n > 0 for n in put.size)):
        raise ManifestError("input.size: must be [width, height] in pixels")
    if put.longest and put.longest % put.step:
        raise ManifestError("input.longest: must be a multiple of step")
    if len(put.mean) != 3 or len(put.std) != 3:
        raise ManifestError("input.mean, input.std: must have 3 numbers")
    if out.decode != "movenet" and bool(manifest.labels) == bool(manifest.terms):
        raise ManifestError("give labels, or terms for a model that reads them")
    if manifest.terms and len(manifest.terms.names) not in (1, 2):
        raise ManifestError("terms.names: must name the input of the tokens, and that of their mask if there is one")
