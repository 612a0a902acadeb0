#!/usr/bin/env python3
"""The config fields that Transformers' classes read, of each model type that a family's row names.

    python3 tests/models/transformers_fields.py [FOLDER]            compares with fields.json
    python3 tests/models/transformers_fields.py [FOLDER] --write    writes it again

FOLDER has the sources of the package (an unpacked wheel's "transformers"); without it an installed package's
are taken. They are parsed, not imported. fields.json has the model types of each config class, and for each
field and default the classes that have it so. Members of objects are "attn_config.alibi". "absent" are types that
Transformers does not have: their rows are written by hand. The tests ConfigFields hold the rows
against it."""

import argparse
import ast
import importlib.util
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = HERE.parents[1] / "generator/model/families"
KEPT = HERE / "fields.json"

# Types that are published with code of their own, which Transformers has under another name.
TYPES = {"kimi_k2": "deepseek_v3", "phi4mm": "phi4_multimodal", "RefinedWeb": "falcon",
         "RefinedWebModel": "falcon", "phi3_v": "phi3", "minimax_m1": "minimax",
         "minimax_text_01": "minimax", "step3p7_text": "step3p5", "minimax_m3": "minimax_m3_vl_text"}
# What a config stands in by the names that classes give it.
CONFIGS = {"config", "text_config", "cfg"}
# This config, or the language model's in it.
SAME = {"text_config", "get_text_config"}
# Classes of other models that stand in the same file, and of other tasks.
OTHER = re.compile(r"Vision|Visual|Audio|Image|Video|Speech|Talker|Token2Wav|Code2Wav|DiT|BigVGAN|ECAPA|"
                   r"Projector|CodePredictor|For(Sequence|Token)Classification|ForQuestionAnswering|"
                   r"DoubleHeads|SequenceSummary|UnfoldConvolution|isionMlp")
# Classes whose config is a member of the model's.
OF_MEMBERS = {name: "ffn_config" for name in ("DbrxExpertGLU", "DbrxExperts", "DbrxRouter")}
# Files that every class uses: what they read counts where the config class declares the field.
SHARED = ("masking_utils.py", "cache_utils.py", "modeling_rope_utils.py")
OBJECTS = re.compile(r"rope_(parameters|scaling)|_config$")


def families():
    """The model types of all rows."""
    types = set()
    for path in sorted(FAMILIES.glob("*.cc")):
        for listed in re.findall(r"\.model_types = \{([^}]*)\}", path.read_text()):
            types |= set(re.findall(r'"([^"]+)"', listed))
    return sorted(types)


def value_of(node):
    """A default as JSON; the source where it is no literal."""
    if node is None:
        return None
    if isinstance(node, ast.Call):  # interval(...)(default=0.02), field(default_factory=...)
        for keyword in node.keywords:
            if keyword.arg == "default":
                return value_of(keyword.value)
    try:
        value = ast.literal_eval(node)
        json.dumps(value)
        return value
    except (ValueError, TypeError, SyntaxError):
        return ast.unparse(node)


def text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


class Configs:
    """The config classes of all models."""

    def __init__(self, folder):
        self.classes = {}
        self.files = {}
        self.types = {}
        for path in sorted(folder.glob("models/*/configuration_*.py")):
            for node in ast.parse(path.read_text()).body:
                if not isinstance(node, ast.ClassDef):
                    continue
                self.classes[node.name] = node
                self.files[node.name] = path
                kind = value_of(self.assigned(node, "model_type"))
                if kind:
                    self.types[kind] = node.name

    @staticmethod
    def assigned(node, name):
        for item in node.body:
            if isinstance(item, ast.Assign) and any(isinstance(target, ast.Name) and target.id == name
                                                    for target in item.targets):
                return item.value
        return None

    def class_of(self, kind):
        """The config class of the language model of that type, or None."""
        name = self.types.get(TYPES.get(kind, kind))
        if name is None:
            return None
        for table in ("sub_configs", "sub_configs_defaults"):
            inner = self.assigned(self.classes[name], table)
            if not isinstance(inner, ast.Dict):
                continue
            for key, value in zip(inner.keys, inner.values):
                if isinstance(value, ast.Call) and value.args:
                    value = value.args[0]
                if text(key) == "text_config" and isinstance(value, ast.Name) and \
                        value.id in self.classes:
                    return value.id
        return name

    def bases(self, name):
        """The class and those it derives from that are models' own."""
        while name in self.classes:
            yield self.classes[name]
            own = [base.id for base in self.classes[name].bases if isinstance(base, ast.Name)]
            name = own[0] if own else None

    def members(self, name):
        """The fields with their defaults; those of objects that have a class follow with a dot."""
        fields = {}
        for node in reversed(list(self.bases(name))):
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and "ClassVar" not in ast.unparse(item.annotation):
                    fields[item.target.id] = value_of(item.value)
                    inner = re.findall(r"\w+Config", ast.unparse(item.annotation))
                    for own in inner:
                        if own in self.classes and self.files[own] == self.files[name]:
                            for key, value in self.members(own).items():
                                fields[f"{item.target.id}.{key}"] = value
            theta = self.assigned(node, "default_theta")
            if theta is not None:
                fields["rope_theta"] = value_of(theta)
        return fields

    def properties(self, name):
        """What the class works out of its fields."""
        return {item.name for node in self.bases(name) for item in node.body
                if isinstance(item, ast.FunctionDef) and
                any(isinstance(own, ast.Name) and own.id == "property" for own in item.decorator_list)}

    def aliases(self, name):
        names = {}
        for node in self.bases(name):
            names.update(value_of(self.assigned(node, "attribute_map")) or {})
        return names


class Reads(ast.NodeVisitor):
    """The fields of one config class that a file reads."""

    def __init__(self, own, others, is_config=False):
        self.own = own  # the config class
        self.others = others  # config classes of the same folder
        self.is_config = is_config  # the file has the config classes: their "self" is the config
        self.where = []
        self.names = [{}]  # what stands for a part of the config, for each function
        self.found = {}  # field -> {place}
        self.defaults = {}

    # Which part of the config an expression is: "" the whole, None no part.
    def part(self, node):
        if isinstance(node, ast.Name):
            for names in reversed(self.names):
                if node.id in names:
                    return names[node.id]
            if self.is_config and node.id == "self":
                return ""
            return "" if node.id in CONFIGS else None
        if isinstance(node, ast.Attribute):
            if node.attr in CONFIGS and not self.is_config:
                inner = self.part(node.value)
                if inner in (None, ""):
                    return ""
            inner = self.part(node.value)
            if inner is None:
                return None
            return inner if node.attr in SAME else self.joined(inner, node.attr)
        if isinstance(node, ast.Subscript):
            inner = self.part(node.value)
            if inner is None:
                return None
            key = text(node.slice)
            return self.joined(inner, key) if key and inner else inner
        if isinstance(node, ast.Call):
            return self.part_of_call(node)
        if isinstance(node, ast.BoolOp):
            parts = [part for part in map(self.part, node.values) if part]
            return parts[0] if parts else None
        if isinstance(node, ast.IfExp):
            return self.part(node.body) or self.part(node.orelse)
        return None

    def part_of_call(self, node):
        called = node.func
        if isinstance(called, ast.Name) and called.id == "getattr" and len(node.args) > 1:
            inner, key = self.part(node.args[0]), text(node.args[1])
            return self.joined(inner, key) if inner is not None and key else None
        if isinstance(called, ast.Attribute):
            inner = self.part(called.value)
            if inner is None:
                return None
            if called.attr in SAME or called.attr in ("copy", "to_dict"):
                return inner
            if called.attr in ("get", "pop", "setdefault") and node.args and text(node.args[0]):
                return self.joined(inner, text(node.args[0]))
        return None

    @staticmethod
    def joined(inner, key):
        if inner and not OBJECTS.search(inner.split(".")[-1]):
            return inner  # the members of other fields are no fields
        return f"{inner}.{key}" if inner else key

    def add(self, part, default=None):
        if part:
            place = next((name for name in reversed(self.where) if name), "")
            self.found.setdefault(part, set()).add(self.where[0] if self.where else place)
            if default is not None:
                self.defaults.setdefault(part, default)

    def visit_ClassDef(self, node):
        if self.is_config:
            if node.name != self.own:
                return
        elif OTHER.search(node.name):
            return
        elif any(config != self.own and config in self.others for config in self.configs_of(node)):
            if self.own not in self.configs_of(node):
                return
        self.names.append({"config": OF_MEMBERS[node.name]} if node.name in OF_MEMBERS else {})
        self.enter(node)
        self.names.pop()

    def configs_of(self, node):
        """The config classes that a class names for its config."""
        names = set()
        for item in ast.walk(node):
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and \
                    item.target.id == "config":
                names |= set(re.findall(r"\w+Config", ast.unparse(item.annotation)))
            if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and \
                    item.targets[0].id == "config_class":
                names |= set(re.findall(r"\w+Config", ast.unparse(item.value)))
            if isinstance(item, ast.arg) and item.arg == "config" and item.annotation is not None:
                names |= set(re.findall(r"\w+Config", ast.unparse(item.annotation)))
        return names

    def visit_FunctionDef(self, node):
        if not self.where and OTHER.search(node.name.title().replace("_", "")):
            return
        if self.is_config and node.name == "__post_init__":
            self.names.append({"kwargs": ""})
        else:
            self.names.append({})
        self.enter(node)
        self.names.pop()

    def enter(self, node):
        self.where.append(node.name)
        self.generic_visit(node)
        self.where.pop()

    def visit_Assign(self, node):
        self.visit(node.value)
        part = self.part(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and part is not None:
                self.names[-1][target.id] = part
            elif isinstance(target, (ast.Subscript, ast.Tuple)):
                self.visit(target)

    def visit_Attribute(self, node):
        if isinstance(node.ctx, ast.Load):
            self.add(self.part(node))
        self.generic_visit(node)

    def visit_Subscript(self, node):
        if text(node.slice):
            self.add(self.part(node))
        self.generic_visit(node)

    def visit_Call(self, node):
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr not in SAME:
            # A method of the config is no field of it.
            if self.part(called.value) == "" and called.attr not in ("get", "pop"):
                for item in [*node.args, *node.keywords]:
                    self.visit(item)
                return
        default = value_of(node.args[2]) if self.name_of(called) == "getattr" and \
            len(node.args) > 2 else None
        if self.name_of(called) in ("get", "pop") and len(node.args) > 1:
            default = value_of(node.args[1])
        if self.name_of(called) == "hasattr" and len(node.args) > 1:
            inner, key = self.part(node.args[0]), text(node.args[1])
            if inner is not None and key:
                self.add(self.joined(inner, key))
        self.add(self.part_of_call(node), default)
        self.visit(called.value if isinstance(called, ast.Attribute) else called)
        for item in [*node.args, *node.keywords]:
            self.visit(item)

    @staticmethod
    def name_of(called):
        return called.id if isinstance(called, ast.Name) else getattr(called, "attr", None)


# Attributes of config classes that no config.json has.
OF_CLASSES = re.compile(r"^(_|default_|validate_)|^(self|ignore_keys_at_rope_validation)$")


class Source:

    def __init__(self, folder):
        self.folder = folder
        self.configs = Configs(folder)
        version = re.search(r'^__version__ = "([^"]+)"', (folder / "__init__.py").read_text(),
                            re.MULTILINE)
        self.version = version[1] if version else "unknown"
        self.shared = {}
        for name in SHARED:
            reads = Reads("", set())
            reads.visit(ast.parse((folder / name).read_text()))
            for field in reads.found:
                self.shared.setdefault(field, name)

    def fields_of(self, kind):
        """(config class, {field: [default, who reads it]}), or None."""
        own = self.configs.class_of(kind)
        if own is None:
            return None
        file = self.configs.files[own]
        others = {name for name, path in self.configs.files.items() if path == file}
        found, defaults = {}, {}
        for path in sorted(file.parent.glob("*.py")):
            name = path.name
            if name.startswith(("modular_", "convert_", "tokenization", "image_", "processing",
                                "feature_", "video_", "__init__")):
                continue
            reads = Reads(own, others, is_config=path == file)
            reads.visit(ast.parse(path.read_text()))
            defaults.update(reads.defaults)
            for field, places in reads.found.items():
                found.setdefault(field, set()).update(places)
        declared = self.configs.members(own)
        names = self.configs.aliases(own)
        for field, name in self.shared.items():
            if field in declared or names.get(field) in declared or \
                    field.split(".")[0] == "rope_parameters" and "rope_parameters" in found:
                found.setdefault(field, set()).add(name)
        rows = {}
        for field, places in sorted(found.items()):
            head, _, rest = field.partition(".")
            field = ".".join(filter(None, [names.get(head, head), rest]))
            if OF_CLASSES.search(head) or head in self.configs.properties(own):
                continue
            rows[field] = [declared.get(field, defaults.get(field)), " ".join(sorted(places))]
        for field, default in declared.items():  # declared, and read nowhere here
            rows.setdefault(field, [default, ""])
        return own, rows


def text_of(source):
    """A line for each config class, with its types, and for each field and default, with its classes."""
    types = {kind: source.fields_of(kind) for kind in families()}
    kinds, rows = {}, {}
    for kind, found in sorted(types.items()):
        if not found:
            continue
        own, fields = found
        if own not in kinds:
            for field, (default, _) in fields.items():
                rows.setdefault((field, json.dumps(default)), []).append(own)
        kinds.setdefault(own, []).append(kind)
    return "\n".join([
        f'{{"transformers": {json.dumps(source.version)},',
        ' "absent": ' + json.dumps(sorted(kind for kind, found in types.items() if not found)) + ",",
        ' "types": {',
        ",\n".join(f"  {json.dumps(own)}: {json.dumps(' '.join(kinds[own]))}" for own in sorted(kinds)),
        ' }, "fields": [',
        ",\n".join(f"  [{json.dumps(field)}, {default}, {json.dumps(' '.join(sorted(owners)))}]"
                   for (field, default), owners in sorted(rows.items())),
        " ]}"]) + "\n"


def defaults_of(kept):
    """{(model type, field): default}"""
    return {(kind, field): default for field, default, owners in kept["fields"]
            for own in owners.split() for kind in kept["types"][own].split()}


def differences(kept, source):
    """What changed, a line for each field, and who reads it."""
    old, got = defaults_of(kept), json.loads(text_of(source))
    new = defaults_of(got)
    for key in sorted(set(old) | set(new)):
        if key not in old or key not in new or old[key] != new[key]:
            kind, field = key
            _, places = (source.fields_of(kind) or (None, {}))[1].get(field, (None, ""))
            yield f"{kind}: {field}: was {old.get(key, 'none')}, is {new.get(key, 'none')}; read by {places}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="the sources of Transformers")
    parser.add_argument("--write", action="store_true", help="write fields.json")
    options = parser.parse_args()
    folder = options.folder
    if folder is None:
        found = importlib.util.find_spec("transformers")
        if found is None or found.origin is None:
            parser.error("Transformers is not installed: name the folder of its sources")
        folder = pathlib.Path(found.origin).parent
    source = Source(folder)
    if options.write:
        KEPT.write_text(text_of(source))
        return 0
    lines = list(differences(json.loads(KEPT.read_text()), source))
    for line in lines:
        print(line)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
