"""Run all studies, or those that are named: every table, picture and page is made anew."""

import argparse
from importlib import import_module

#: In the order of the documents.
STUDIES = [
    "theorem",
    "machines",
    "block",
    "sparsity",
    "parity",
    "addition",
    "languages",
    "sawtooth",
    "gradients",
    "explain",
]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("--quick", action="store_true", help="measure less, and write neither pictures nor pages")
    given = parser.parse_args()
    for name in given.names:
        if name not in STUDIES:
            parser.error(f"there is no study {name!r}: there are {', '.join(STUDIES)}")
    for name in given.names or STUDIES:
        import_module(name).STUDY.run(given.quick)
