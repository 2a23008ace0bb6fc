#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries tools/public_names.py: what it reads as a declaration, and that it finds a name that nothing says."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
import public_names  # noqa: E402

HEADER = """#pragma once
#define NOT_A_NAME(x) struct x {}
namespace hyperparallel { inline namespace v0_2 {
// struct commented {};
struct handed { int member = 0; friend bool operator==(handed, handed) = default; };
template <class T>
  requires(sizeof(T) > 1) && (!sizeof(T[2]) == 0)
struct limited { void method() { int local = 0; } };
template <>
struct limited<int> {};
enum class kind : unsigned char { first, second };
inline constexpr const char* letters = "{ struct quoted {}; }";
inline constexpr int numbers[] = {1'000, 2};
template <class T>
concept shown = requires(const T& t) { { t.text() } -> shown_text; };
using row = int[2];
template <class T>
constexpr bool is_row = false;
template <>
inline constexpr bool is_row<row> = true;
[[nodiscard]] constexpr handed said(int a, kind k = {}) { struct inner {}; return {a}; }
template <class... T>
auto unsaid(T&&... t) -> decltype(said(t...)) { return said(t...); }
int handed::out_of_class() { return 0; }
handed operator+(handed a, handed b);
namespace ops { struct listed {}; }
namespace detail { struct hidden {}; int hide(); }
}}  // namespace hyperparallel::v0_2
"""
NAMES = {"handed", "limited", "kind", "letters", "numbers", "shown", "row", "is_row", "said", "unsaid", "listed"}


class PublicNames(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.kept = public_names.ROOT, public_names.HEADERS
        public_names.ROOT = Path(self.folder.name)
        public_names.HEADERS = public_names.ROOT / "include" / "hyperparallel"
        for name, text in {"include/hyperparallel/one.hpp": HEADER, "README.md": "Call `hp::said(3)`, the unsaid.",
                           "docs/page.md": "```cpp\nhp::limited<int> l; hp::letters; hp::numbers; hp::is_row<hp::row>;\n```"}.items():
            path = public_names.ROOT / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def tearDown(self):
        public_names.ROOT, public_names.HEADERS = self.kept
        self.folder.cleanup()

    def test_declarations_are_told_by_their_brackets(self):
        self.assertEqual({name for _, name in public_names.public_names()}, NAMES)

    def test_what_nothing_says_and_nothing_hands_over_is_found(self):
        unsaid = public_names.unsaid_names(public_names.public_names())
        self.assertEqual([name for _, name in unsaid], ["shown", "unsaid"])  # not handed and kind, which `said` has

    def test_a_page_that_says_it_in_code_clears_it(self):
        (public_names.ROOT / "docs" / "page.md").write_text("`hp::unsaid()` and `hp::shown`")
        lines = [what for _, what in public_names.violations()]
        self.assertFalse(any("'unsaid'" in what or "'shown'" in what for what in lines), lines)
        self.assertTrue(any("'letters'" in what for what in lines), lines)

    def test_one_branch_is_read_where_none_balances(self):
        text = "namespace hyperparallel {\n#if X\nstruct a {\n#else\nstruct b {\n#endif\n};\nstruct c {};\n}\n"
        self.assertEqual([found[2] for found in public_names.Scanner(text).found], ["b", "c"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
