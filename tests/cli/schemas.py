# SPDX-License-Identifier: Apache-2.0
"""The schemas of dsctl's JSON documents (docs/schema), and documents held against them."""
import glob
import json
import os

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FOLDER = os.path.join(ROOT, "docs/schema")


def load():
    """{name: schema}"""
    schemas = {}
    for path in glob.glob(os.path.join(FOLDER, "*.json")):
        with open(path, encoding="utf-8") as file:
            schemas[os.path.basename(path)[:-len(".json")]] = json.load(file)
    return schemas


class Checker:
    def __init__(self):
        self.schemas = load()
        self.answered = set()   # names of the documents that were an answer, not only an error

    def errors(self, document):
        name = document["schema"].removeprefix("dsctl/").removesuffix("/v1")
        validator = jsonschema.Draft202012Validator(self.schemas[name])
        return [f"{error.json_path}: {error.message}"[:500] for error in validator.iter_errors(document)]

    def check(self, document):
        """Throws unless the document is as its schema says."""
        errors = self.errors(document)
        assert not errors, f"{document['schema']}: {'; '.join(errors)} in {json.dumps(document)[:1000]}"
        items = self.schemas[document["schema"].split("/")[1]].get("properties", {}).get("response", {})
        if "response" not in document or document["response"] or (document["status"] == 0 and items.get("maxItems") == 0):
            self.answered.add(document["schema"].split("/")[1])


def objects_of(schema):
    """Each schema of an object that stands anywhere in a schema, with its place."""
    stack = [("", schema)]
    while stack:
        place, part = stack.pop()
        if isinstance(part, dict):
            if part.get("type") == "object":
                yield place, part
            stack += [(f"{place}/{name}", value) for name, value in part.items()]
        elif isinstance(part, list):
            stack += [(f"{place}/{number}", value) for number, value in enumerate(part)]
