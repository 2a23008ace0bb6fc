// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators on random blocks: every loop of an einsum is a named dim of the same letter, every operand has a domain.
//
//   run_case<double> c(id_of<ops::embed>, "xy,vh->xyh", "in", options, random);  c.run_whole();  c.run_cut(pieces)
//
// Domains, one letter an operand: n normal, p positive, i numbers in [0, v), l labels in [-1, v), e distinct experts
// along the last dim.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/kernels/ops/builtin_kernels.hpp>

namespace kernel_test {

namespace hp = hyperparallel;
using hp::extent_t;

struct case_options {
  extent_t integer[2] = {};
  double real[5] = {};
  hp::reduce_op reduction = hp::reduce_op::sum;
};

/// What is drawn again and again with other extents.
struct operator_case {
  hp::operator_id op;
  const char* text;
  const char* domains;
  case_options options = {};
};

template <class T>
struct case_block {
  std::vector<T> values;
  std::vector<std::int32_t> indices;
};

inline std::size_t at(extent_t i) { return static_cast<std::size_t>(i); }

/// Extents of an operator's loops, by letter.
struct letter_extents {
  extent_t of[128] = {};
  /// Random ones in [2, most]; even where the letter is D.
  letter_extents(const std::string& text, std::mt19937& random, extent_t most = 7) {
    for (const char letter : text) {
      const int l = static_cast<unsigned char>(letter);
      if (std::isalpha(l) == 0 || of[l] != 0) continue;
      of[l] = 2 + static_cast<extent_t>(random() % static_cast<unsigned>(most - 1));
      if (letter == 'D') of[l] = 2 * (of[l] / 2 + 1);
    }
    if (of[static_cast<int>('K')] > 0) {
      const int experts = of[static_cast<int>('E')] > 0 ? 'E' : 'e';
      of[static_cast<int>('K')] = std::min<extent_t>(2, of[experts]);
    }
  }
};

template <class T>
class run_case {
 public:
  hp::graph g;
  hp::graph_operator op;
  std::string text;
  std::vector<case_block<T>> operand, result;

  run_case(hp::operator_id kind, const std::string& einsum, const std::string& domains, const case_options& o,
           std::mt19937& random)
      : run_case(kind, einsum, domains, o, letter_extents(einsum, random), random) {}
  run_case(hp::operator_id kind, const std::string& einsum, const std::string& domains, const case_options& o,
           const letter_extents& extents, std::mt19937& random)
      : text(einsum) {
    std::vector<hp::created_dim> created;
    for (int l = 0; l < 128; ++l)
      if (extents.of[l] > 0) {
        const char name[2] = {static_cast<char>(l), '\0'};
        created.push_back({name[0], g.dim.push({hp::add_text(g, name), extents.of[l]})});
      }
    std::vector<int> tensors;
    for (std::size_t i = 0, start = 0; i < domains.size(); ++i) {
      hp::graph_tensor t;
      for (; text[start] != ',' && text[start] != '-'; ++start) {
        for (const hp::created_dim& d : created)
          if (d.letter == text[start]) t.dim[t.shape.rank] = d.dim;
        t.shape.extent[t.shape.rank++] = extents.of[static_cast<int>(text[start])];
      }
      ++start;
      tensors.push_back(g.tensor.push(t));
      operand.push_back(noise(domains[i], t.shape, extents, random));
    }
    op.kind = kind;
    for (int i = 0; i < 2; ++i) op.integer[i] = o.integer[i];
    for (int i = 0; i < 5; ++i) op.real[i] = o.real[i];
    op.reduction = o.reduction;
    const hp::graph_status s = hp::bind_loops(g, op, text.c_str(), tensors.data(), static_cast<int>(tensors.size()),
                                              created.data(), static_cast<int>(created.size()));
    if (s.code != hp::graph_code::ok) throw std::invalid_argument(text + ": " + hp::name_of(s.code));
  }

  const hp::factor_rule& rule() const { return g.rule_of(op); }
  char letter_of(int loop) const { return g.name_of_dim(op.loop[loop].dim)[0]; }

  hp::operator_call whole() const {
    hp::operator_call c;
    c.attributes = &op;
    c.rule = &rule();
    c.step = 3;
    for (int l = 0; l < op.loop_count; ++l) c.loop[l] = {0, op.loop[l].extent, op.loop[l].extent};
    return c;
  }

  void run_whole() { result = run_box(whole()); }

  /// The results of the box `c`, whose pointers are set here.
  std::vector<case_block<T>> run_box(hp::operator_call c) const {
    std::vector<case_block<T>> in(operand.size()), out(at(op.result_count));
    for (int i = 0; i < op.operand_count; ++i) {
      const case_block<T>& all = operand[at(i)];
      for_each_element(c, rule().operand[i], [&](extent_t inside, extent_t) {
        if (all.indices.empty())
          in[at(i)].values.push_back(all.values[at(inside)]);
        else
          in[at(i)].indices.push_back(all.indices[at(inside)]);
      });
      c.operand[i] = all.indices.empty() ? static_cast<const void*>(in[at(i)].values.data()) : in[at(i)].indices.data();
    }
    for (int r = 0; r < op.result_count; ++r) {
      if (is_index(r))
        out[at(r)].indices.assign(at(c.result_elements(r)), -77);
      else
        out[at(r)].values.assign(at(c.result_elements(r)), std::numeric_limits<T>::quiet_NaN());
      c.result[r] = is_index(r) ? static_cast<void*>(out[at(r)].indices.data()) : out[at(r)].values.data();
    }
    hp::kernel_of<T>(op.kind)(c);
    return out;
  }

  /// The results put together from boxes: `cuts[l]` are the ends of the pieces of loop l.
  std::vector<case_block<T>> run_cut(const std::vector<std::vector<extent_t>>& cuts) const {
    std::vector<case_block<T>> joined(at(op.result_count));
    const bool maximum = op.reduction == hp::reduce_op::max;
    for (int r = 0; r < op.result_count; ++r) {
      const std::size_t n = at(whole().result_elements(r));
      joined[at(r)].indices.assign(is_index(r) ? n : 0, -77);
      joined[at(r)].values.assign(is_index(r) ? 0 : n, maximum ? -std::numeric_limits<T>::infinity() : T(0));
    }
    std::vector<std::size_t> piece(at(op.loop_count), 0);
    for (bool more = true; more;) {
      hp::operator_call c = whole();
      for (int l = 0; l < op.loop_count; ++l) {
        const std::vector<extent_t>& ends = cuts[at(l)];
        c.loop[l].begin = piece[at(l)] == 0 ? 0 : ends[piece[at(l)] - 1];
        c.loop[l].extent = ends[piece[at(l)]] - c.loop[l].begin;
      }
      const std::vector<case_block<T>> part = run_box(c);
      for (int r = 0; r < op.result_count; ++r)
        for_each_element(c, rule().result[r], [&](extent_t inside, extent_t local) {
          if (is_index(r)) {
            joined[at(r)].indices[at(inside)] = part[at(r)].indices[at(local)];
            return;
          }
          T& to = joined[at(r)].values[at(inside)];
          const T value = part[at(r)].values[at(local)];
          to = maximum ? std::max(to, value) : to + value;
        });
      more = false;
      for (std::size_t l = 0; l < piece.size() && !more; ++l) {
        more = ++piece[l] < cuts[l].size();
        if (!more) piece[l] = 0;
      }
    }
    return joined;
  }

  bool is_index(int r) const {
    return r == 1 && (op.kind == hp::id_of<hp::ops::top_k> || op.kind == hp::id_of<hp::ops::biased_top_k>);
  }

 private:
  /// body(place in the whole tensor, place in the box's block), in the block's order.
  template <class Body>
  void for_each_element(const hp::operator_call& c, const hp::tensor_factors& t, const Body& body) const {
    extent_t n = 1;
    for (int d = 0; d < t.rank; ++d) n *= c.loop[t.term[d]].extent;
    for (extent_t local = 0; local < n; ++local) {
      extent_t rest = local, inside = 0, step = 1;
      for (int d = t.rank - 1; d >= 0; --d) {
        const hp::loop_span& l = c.loop[t.term[d]];
        inside += (rest % l.extent + l.begin) * step;
        rest /= l.extent;
        step *= l.whole;
      }
      body(inside, local);
    }
  }

  static case_block<T> noise(char domain, const hp::shape& shape, const letter_extents& extents, std::mt19937& random) {
    case_block<T> b;
    const extent_t n = hp::element_count(shape).value;
    const extent_t last = shape.rank > 0 ? shape.extent[shape.rank - 1] : 1;
    const extent_t rows = extents.of[static_cast<int>('v')];
    const extent_t experts = std::max(extents.of[static_cast<int>('E')], extents.of[static_cast<int>('e')]);
    std::normal_distribution<double> normal;
    for (extent_t i = 0; i < n; ++i) {
      const double x = normal(random);
      if (domain == 'n') b.values.push_back(static_cast<T>(x));
      if (domain == 'p') b.values.push_back(static_cast<T>(std::fabs(x) + 0.25));
      if (domain == 'i') b.indices.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(rows)));
      if (domain == 'l') b.indices.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(rows + 1)) - 1);
      if (domain != 'e') continue;
      std::int32_t e = static_cast<std::int32_t>(random() % static_cast<unsigned>(experts));
      const auto row = b.indices.end() - static_cast<std::ptrdiff_t>(i % last);
      while (std::find(row, b.indices.end(), e) != b.indices.end()) e = static_cast<std::int32_t>((e + 1) % experts);
      b.indices.push_back(e);
    }
    return b;
  }
};

/// Largest |a - b| over the largest |b|, infinities being equal to themselves.
template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, largest = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] && std::isinf(a[i])) continue;
    const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(d <= difference)) difference = d;
    largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
  }
  return difference / largest;
}

}  // namespace kernel_test
