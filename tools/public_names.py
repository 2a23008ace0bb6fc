#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public names of the library: what its headers declare in a namespace that is not detail.

A public name is said by a page (in code), an example, a tool, a bench or an outside project, or stands in the declaration
of one that is. Any other belongs in `detail`: users do not learn it, and it may change. Prints how many public names each
folder has, then each that nothing says, and exits 1 if there is one.

It reads C++ by its tokens: declarations at namespace scope are told by their brackets, so templates, attributes and
constraints are passed over; one branch of an #if whose braces do not balance is left out. A word counts as said wherever it
stands, also where it means something else: what is listed belongs in `detail`, what is not listed may. Of several variables in
one declaration the first is read. Words of lists, as operators and what an error prints, are public as they are.
"""
import collections
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include" / "hyperparallel"
TOKEN = re.compile(
    r"""(?P<skipped>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*|\s+)
      |(?P<text>R"(?P<mark>[^()\s\\"]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
      |(?P<word>[A-Za-z_]\w*)
      |(?P<number>\.?\d(?:['\w.])*)
      |(?P<sign>::|->|==|!=|<=|&&|\|\||\.\.\.|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
CODE_OF_PAGE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
CLOSING = {"(": ")", "{": "}", "[": "]"}
CLASS_WORDS = ("struct", "class", "union", "enum")
# Declarations of these namespaces are words of their own: operators and functions of elements, rules, what an error prints.
WORDS_OF_A_LIST = {"ops", "rules", "operations", "forms", "functions", "diag", "assumed", "partial_algebra", "dlpack"}


def one_branch(text):
    """The text without the first branch of each #if of which no branch balances its braces."""
    def keep(found):
        first, second = found.group("first"), found.group("second")
        return second if first.count("{") != first.count("}") else found.group(0)
    return re.sub(r"^#if [^\n]*\n(?P<first>(?:(?!^#).)*)^#else\n(?P<second>(?:(?!^#).)*)^#endif\n", keep, text,
                  flags=re.DOTALL | re.MULTILINE)


def tokens_of(text):
    return [found.group(0) for found in TOKEN.finditer(one_branch(text)) if not found.group("skipped")]


class Scanner:
    """Declarations of one header: (namespaces, kind, name, tokens of the declaration)."""

    def __init__(self, text):
        self.token = [*tokens_of(text), "", ""]
        self.found = []
        self.scope(0, len(self.token) - 2, ())

    def closed(self, i):
        """The place of the bracket that closes the one at i."""
        opening, closing, depth = self.token[i], CLOSING[self.token[i]], 0
        while True:
            depth += (self.token[i] == opening) - (self.token[i] == closing)
            if depth == 0:
                return i
            i += 1

    def closed_angle(self, i):
        depth = 0
        while True:
            token = self.token[i]
            if token in CLOSING:
                i = self.closed(i)
            depth += (token == "<") - (token == ">")
            if depth == 0:
                return i
            i += 1

    def behind_constraint(self, i):
        """Behind the requires clause whose condition begins at i: primary expressions joined by && and ||."""
        while True:
            while self.token[i] == "!":
                i += 1
            if self.token[i] == "(":
                i = self.closed(i) + 1
            elif self.token[i] == "requires":
                i += 1
                if self.token[i] == "(":
                    i = self.closed(i) + 1
                i = self.closed(i) + 1
            else:
                i += 1
                while self.token[i] in ("<", "::"):
                    i = self.closed_angle(i) + 1 if self.token[i] == "<" else i + 2
            if self.token[i] not in ("&&", "||"):
                return i
            i += 1

    def scope(self, i, end, namespaces):
        while i < end:
            token = self.token[i]
            is_inline = token == "inline" and self.token[i + 1] == "namespace"
            if token == "namespace" or is_inline:
                brace = i
                while self.token[brace] not in ("{", ";"):
                    brace += 1
                if self.token[brace] == ";":
                    i = brace + 1
                    continue
                names = tuple(word for word in self.token[i:brace] if WORD.match(word) and word not in ("inline", "namespace"))
                self.scope(brace + 1, self.closed(brace), namespaces if is_inline else namespaces + names)
                i = self.closed(brace) + 1
            elif token.startswith("HYPERPARALLEL_") and self.token[i + 1] == "(":
                i = self.closed(i + 1) + 1
            elif token.startswith("HYPERPARALLEL_") or token == ";":
                i += 1
            else:
                i = self.declaration(i, end, namespaces)

    def declaration(self, begin, end, namespaces):
        """Reads the declaration at `begin`; returns the place behind it."""
        i, name, kind, last_word, has_value = begin, None, None, None, False
        while i < end:
            token, following = self.token[i], self.token[i + 1] if i + 1 < end else ""
            is_open = name is None and not has_value
            if token == ";":
                name, kind = (last_word, "variable") if is_open and last_word else (name, kind)
                break
            if token == "template" and following == "<" and is_open:
                i = self.closed_angle(i + 1)
            elif token == "requires" and is_open:
                i = self.behind_constraint(i + 1) - 1
            elif token in ("decltype", "alignas", "noexcept", "explicit") and following == "(" and is_open:
                i = self.closed(i + 1)
            elif token == "using" and following != "namespace" and self.token[i + 2] != "=":
                kind = "using"
                while self.token[i + 1] != ";":
                    i += 1
            elif token in ("using", "concept") and is_open:
                name, kind, has_value = following, token, True
            elif token in CLASS_WORDS and is_open:
                i, name, kind = self.class_head(i)
            elif token == "operator" and is_open:
                name, kind = token, "operator"
            elif token == "[" and following == "[" and last_word is None:
                i = self.closed(i)
            elif token == "(":
                if is_open and last_word:
                    name, kind = last_word, "member" if self.token[i - 2] == "::" else "function"
                i = self.closed(i)
            elif token == "<" and is_open and last_word:
                i = self.closed_angle(i)
                if self.token[i + 1] in ("=", "{", ";", "("):
                    name, kind = last_word, "specialisation"
            elif token in ("=", "[", "{") and is_open and last_word:
                name, kind = last_word, "variable"
                continue
            elif token == "=":
                has_value = True
            elif token in CLOSING:
                i = self.closed(i)
                if token == "{" and kind in ("function", "operator", "member", "specialisation") and not has_value:
                    if i + 1 >= end or self.token[i + 1] != ";":
                        break
            elif WORD.match(token) and is_open:
                last_word = token
            i += 1
        if name and kind not in ("operator", "member", "specialisation") and name != "static_assert":
            self.found.append((namespaces, kind, name, self.token[begin:i + 1]))
        return i + 1

    def class_head(self, i):
        """(last place of the head, name, kind) behind struct, class, union or enum; no name for an elaborate type."""
        kind, i = self.token[i], i + 1
        if self.token[i] in ("class", "struct"):
            i += 1
        while self.token[i] in ("[", "alignas"):
            i = self.closed(i if self.token[i] == "[" else i + 1) + 1
        name = self.token[i]
        if self.token[i + 1] in ("<", "::"):
            while self.token[i + 1] in ("<", "::"):
                i = self.closed_angle(i + 1) if self.token[i + 1] == "<" else i + 2
            return i, name, "specialisation"
        if self.token[i + 1] in ("{", ":", ";", "final"):
            return i, name, kind
        return i, None, None


def words_of_signature(kind, tokens):
    """The words of a declaration that a user of the name meets: no bodies of functions."""
    words, depth = set(), 0
    for token in tokens:
        if token == "{":
            if kind == "function":
                break
            depth += 1
        if depth <= 1 and WORD.match(token):
            words.add(token)
        depth -= token == "}"
    return words


def said_words():
    """The words of pages (in code), examples, tools, benches and outside projects."""
    words = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for code in CODE_OF_PAGE.findall(page.read_text()):
            words.update(WORD.findall(code))
    for folder in ("docs", "examples", "tools", "bench", "tests/consumer"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cpp", ".hpp"):
                words.update(token for token in tokens_of(path.read_text()) if WORD.match(token))
            elif path.suffix == ".py" and path.name != "public_names.py":
                words.update(WORD.findall(path.read_text()))
    return words


def public_names():
    """Declarations by (namespaces, name), where no namespace is detail: lists of (kind, header, tokens)."""
    names = collections.defaultdict(list)
    for path in sorted([*HEADERS.rglob("*.hpp"), *HEADERS.rglob("*.ipp")]):
        for namespaces, kind, name, tokens in Scanner(path.read_text()).found:
            if "detail" not in namespaces:
                names[namespaces, name].append((kind, str(path.relative_to(HEADERS)), tokens))
    return names


def unsaid_names(names):
    """The keys of `names` that nothing says and no declaration of a name hands over that something says."""
    said = said_words()
    by_word = collections.defaultdict(list)
    for key, declared in names.items():
        if any(kind != "function" for kind, _, _ in declared):
            by_word[key[1]].append(key)
    reached = {key for key in names if key[1] in said or WORDS_OF_A_LIST & set(key[0])}
    open_keys = list(reached)
    while open_keys:
        for kind, _, tokens in names[open_keys.pop()]:
            for word in words_of_signature(kind, tokens):
                for key in by_word.get(word, ()):
                    if key not in reached:
                        reached.add(key)
                        open_keys.append(key)
    return sorted(key for key in names if key not in reached)


def violations():
    """A line for each name that belongs in detail."""
    names = public_names()
    for key in unsaid_names(names):
        yield names[key][0][1], f"'{key[1]}' is said by no page, example, tool or bench: it belongs in detail"


def main():
    names = public_names()
    folders = collections.Counter(declared[0][1].split("/")[0] for declared in names.values())
    for folder, count in folders.most_common():
        print(f"{count:5}  {folder}")
    print(f"{len(names):5}  in all, {sum(key[0] == ('hyperparallel',) for key in names)} of them in hyperparallel itself")
    lines = list(violations())
    for header, what in lines:
        print(f"{header}: {what}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
