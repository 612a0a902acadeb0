"""The parser and the JSON Schema give the same verdict on every example and on seeded mutants.

Usage: schema_agreement.py SPEC_VERDICT EXAMPLES_DIR
SPEC_VERDICT prints "ok" or "error ..." for each line of JSON, and the schema with --schema.
"""

import copy
import json
import pathlib
import random
import subprocess
import sys

MUTANTS_PER_EXAMPLE = 150
SEED = 20250801


def validator_of(schema):
    try:
        import jsonschema
    except ImportError:
        sys.exit(f"schema_agreement: {sys.executable} has no package jsonschema "
                 "(Debian and Ubuntu: apt install python3-jsonschema)")
    if not hasattr(jsonschema, "Draft202012Validator"):
        sys.exit("schema_agreement: the Python package jsonschema is older than 4.0")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def children(schema):
    """(key, schema of the child) of an object or array schema."""
    if "properties" in schema:
        return list(schema["properties"].items())
    return list(enumerate(schema.get("prefixItems", [])))


def places(document, schema, path=()):
    """(path, schema or None) of every value in the document."""
    yield path, schema
    known = dict(children(schema or {}))
    items = []
    if isinstance(document, dict):
        items = list(document.items())
    elif isinstance(document, list):
        items = list(enumerate(document))
    for key, value in items:
        yield from places(value, known.get(key), path + (key,))


def objects(document, schema):
    """(path, schema) of every object that the schema knows."""
    for path, known in places(document, schema):
        if known and isinstance(at(document, path), dict):
            yield path, known


def at(document, path):
    for key in path:
        document = document[key]
    return document


def put(document, path, value):
    if not path:
        return value
    at(document, path[:-1])[path[-1]] = value
    return document


def good_value(schema, rng):
    """A value that the schema of one field accepts."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "anyOf" in schema:
        return good_value(dict(rng.choice(schema["anyOf"]), type=schema["type"]), rng)
    if "properties" in schema:
        names = [name for name in schema["properties"]
                 if name in schema.get("required", []) or rng.random() < 0.5]
        rng.shuffle(names)
        return {name: good_value(schema["properties"][name], rng) for name in names}
    if "prefixItems" in schema:
        return [good_value(item, rng) for item in schema["prefixItems"]]
    if schema["type"] == "array":
        low, high = schema["items"]["minimum"], schema["items"]["maximum"]
        return rng.sample(range(low, high + 1), rng.choice([1, 2, 8, 16]))
    if schema["type"] == "boolean":
        return rng.random() < 0.5
    if schema["type"] == "string":
        size = rng.choice([1, 2, schema["maxLength"] - 1, schema["maxLength"]])
        return "".join(rng.choice("aZ09._-") for _ in range(size))
    if schema["type"] == "number":
        low, high = schema["minimum"], schema["maximum"]
        return rng.choice([low, high, low * (high / low) ** rng.random()])
    step = schema.get("multipleOf", 1)
    low, high = -(-schema["minimum"] // step), schema["maximum"] // step
    value = step * rng.choice([low, low + 1, high, rng.randint(low, high)])
    return float(value) if rng.random() < 0.2 else value


def edge_value(schema, rng):
    """A value at or beyond the edge of what one field accepts."""
    schema = schema["anyOf"][-1] if "anyOf" in schema else schema
    if "uniqueItems" in schema:
        return rng.choice([[], [0], [0, 0], [-1], [schema["items"]["maximum"] + 1], [0.5], ["0"],
                           [1.0, 2], list(range(schema["items"]["maximum"] + 1))])
    if "minimum" in schema:
        low, high, step = schema["minimum"], schema["maximum"], schema.get("multipleOf", 1)
        return rng.choice([low, high, low - 1, high + 1, low + step, high - step, low + 1, 0, -1,
                           low + 0.5, 2**31, 2**63, 2**64, 10**30, 1e300, -1e300, -0.0, 1e-320])
    if "enum" in schema:
        word = rng.choice(schema["enum"])
        return rng.choice([word, word.upper(), word[:-1], word + " ", word + "\n", word + "x", ""])
    if "maxLength" in schema:
        return rng.choice(["", "a" * schema["maxLength"], "a" * (schema["maxLength"] + 1), "a b",
                           "a\n", "\n", "\u00e9", "\0", "a/b", "\U0001f642"])
    if "const" in schema:
        return rng.choice([1, 1.0, 0, 2, True, "1", 1.5, -1])
    return rng.choice([True, False, 0, 1, "true", [], [1], [1, 2], [1, 2, 3], {}])


OTHER_TYPES = [None, True, False, 0, 1, 4, 4.0, 128, 0.5, "", "fp16", "none", "4", [], [1, 16], {},
               {"n": 8}, [[]], {"": {}}]


def misspelt(name, rng):
    letters = list(name)
    i = rng.randrange(len(letters))
    return rng.choice([name[:i] + name[i + 1:], name + "s", name.upper(), name + "_", "x" + name,
                       "/" + name, "/weight/" + name, "".join(reversed(letters))])


def mutate_once(document, schema, rng):
    kind = rng.choice(["good", "good", "good", "good", "fill", "fill", "drop_optional", "edge",
                       "edge", "retype", "delete", "rename", "extra", "move", "reorder"])
    known = [(path, field) for path, field in places(document, schema) if field and path]
    path, field = rng.choice(known) if known else ((), schema)
    holders = list(objects(document, schema))
    if not holders:
        return document
    holder_path, holder_schema = rng.choice(holders)
    holder = at(document, holder_path)
    if kind == "good":
        return put(document, path, good_value(field, rng))
    if kind == "edge":
        return put(document, path, edge_value(field, rng))
    if kind == "retype":
        return put(document, path, copy.deepcopy(rng.choice(OTHER_TYPES)))
    if kind == "fill":
        name = rng.choice(list(holder_schema["properties"]))
        holder[name] = good_value(holder_schema["properties"][name], rng)
    elif kind == "drop_optional":
        names = [n for n in holder if n not in holder_schema.get("required", [])]
        if names:
            del holder[rng.choice(names)]
    elif kind == "extra":
        holder[rng.choice(["", "comment", "$schema", "a/b", "a~b", "group_sise", "gorup_size",
                           "\u00fc", "0", "Bits", "x" * 300])] = rng.choice(OTHER_TYPES)
    elif holder:
        name = rng.choice(list(holder))
        if kind == "delete":
            del holder[name]
        elif kind == "rename":
            holder[misspelt(name, rng) if name else "x"] = holder.pop(name)
        elif kind == "move":
            value = holder.pop(name)
            at(document, rng.choice(holders)[0])[name] = value
        else:
            items = list(holder.items())
            rng.shuffle(items)
            holder.clear()
            holder.update(items)
    return document


def mutants(example, schema, rng):
    seen = set()
    while len(seen) < MUTANTS_PER_EXAMPLE:
        document = copy.deepcopy(example)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            try:
                document = mutate_once(document, schema, rng)
            except (KeyError, TypeError, IndexError):
                pass  # an earlier mutation, or a move, took the place away
        text = json.dumps(document)
        if text not in seen:
            seen.add(text)
            yield text


def main():
    program, examples_dir = sys.argv[1:]
    schema = json.loads(subprocess.run([program, "--schema"], check=True, capture_output=True,
                                       text=True).stdout)
    validator = validator_of(schema)
    rng = random.Random(SEED)
    files = sorted(pathlib.Path(examples_dir).glob("*.json"))
    if not files:
        sys.exit(f"schema_agreement: no examples in {examples_dir}")
    examples = [json.loads(path.read_text()) for path in files]
    documents = [json.dumps(example) for example in examples]
    operations = {one["properties"]["op"]["const"]: one for one in schema["oneOf"]}
    for example in examples:
        documents.extend(mutants(example, operations[example["op"]], rng))

    run = subprocess.run([program], input="\n".join(documents) + "\n", check=True,
                         capture_output=True, text=True)
    verdicts = run.stdout.splitlines()
    if len(verdicts) != len(documents):
        sys.exit(f"schema_agreement: {len(documents)} documents, {len(verdicts)} verdicts")

    failures = 0
    valid = 0
    for index, (text, verdict) in enumerate(zip(documents, verdicts)):
        errors = [error.message for error in validator.iter_errors(json.loads(text))]
        if index < len(examples) and (errors or verdict != "ok"):
            failures += 1
            print(f"{files[index].name} is refused: {verdict} {errors}")
        elif (not errors) != (verdict == "ok"):
            failures += 1
            print(f"they differ on {text}\n  schema: {errors or 'ok'}\n  parser: {verdict}")
        if index >= len(examples):
            valid += not errors
    count = len(documents) - len(examples)
    print(f"schema_agreement: {len(examples)} examples, {count} mutants "
          f"({valid} valid, {count - valid} invalid), {failures} disagreements")
    if 3 * valid < count or 3 * (count - valid) < count:
        sys.exit("schema_agreement: less than a third of the mutants is valid, or invalid")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
