// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator on random operands: as a graph of it alone, and its kernel on any box of its loops.
//
// Ranks of `*` are 0 to 2, extents 1 to `largest`; numbers of index operands are below the extent of the factor that the
// operator names, values of [lowest, highest) are not near 0, where functions may break.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <hyperparallel/check/kernel_probe.hpp>
#include <hyperparallel/exec/status_text.hpp>
#include <hyperparallel/graph/model_builder.hpp>

namespace hyperparallel { inline namespace v0_2 { namespace detail {

struct checked_operator {
  operator_list operators{};
  operator_id op{};
  kernel_choice kernels = nullptr;
  int operands = 0;
};

struct sample_graph {
  model_builder builder;
};

class operator_sample : public sample_graph, public kernel_probe {
 public:
  operator_sample(const checked_operator& checked, const operator_options& how, const operator_check_options& options,
                  keyed_sequence& random)
      : sample_graph{model_builder({.operators = checked.operators})},
        kernel_probe(builder.graph, 0, checked.kernels),
        checked_(checked),
        how_(how),
        options_(options),
        random_(options, random) {
    positive = options.positive;
    build();
    if (complaint.empty()) fill();
  }
  operator_sample(const operator_sample&) = delete;
  operator_sample& operator=(const operator_sample&) = delete;

  std::string complaint;  ///< why the operator has no sample
  int first_result = -1;

 private:
  /// The same as `value()`, before there is an operator.
  const operator_value& checked_value() const { return checked_.operators[checked_.op]; }

  extent_t random_extent(const factor& x) {
    if (x.extent > 0) return x.extent;
    const extent_t drawn = 1 + random_.below(options_.largest);
    return options_.extent_of == nullptr ? drawn : options_.extent_of(x.letter, drawn);
  }

  void build() {
    const char* const text = how_.text != nullptr ? how_.text : checked_value().text;
    operand_ranks ranks{checked_.operands};
    const int star = static_cast<int>(random_.below(3));
    const char *part = text, *letter = text;
    for (int i = 0; i < ranks.count && i < max_operands; ++i) {  // the last part is repeated
      int dims = star;  // of the first star; a second one is a letter too many, whatever was drawn
      for (letter = part; *letter != ',' && *letter != '-' && *letter != '\0'; ++letter)
        ranks.rank[i] += *letter == '*' ? std::exchange(dims, 1) : 1;
      if (*letter == ',') part = letter + 1;
    }
    const rule_result read = rule_from(checked_value().name, text, {how_.reduction, checked_value().partials}, ranks);
    if (read.status.code != rule_code::ok) {
      complaint = std::string("its rule \"") + text + "\" is none: " + name_of(read.status.code) + ", " +
                  std::to_string(read.status.where);
      return;
    }
    int dim[max_factors] = {};
    operator_options how = how_;
    how.text = text;
    for (int f = 0; f < read.rule.factor_count; ++f) {
      const factor& x = read.rule.factor[f];
      dim[f] = builder.dim(("factor" + std::to_string(f)).c_str(), random_extent(x));
      bool read_somewhere = false;
      for (int i = 0; i < ranks.count; ++i) read_somewhere = read_somewhere || has_factor(read.rule.operand[i], f);
      if (!read_somewhere && how.created_count < 3) how.created[how.created_count++] = {x.letter, dim[f]};
    }
    number_list operands;
    for (int i = 0; i < ranks.count; ++i) {
      number_list dims;
      const tensor_factors& t = read.rule.operand[i];
      for (int d = 0; d < t.rank; ++d) dims.item[dims.count++] = dim[t.term[d]];
      const std::string name = "operand" + std::to_string(i);
      operands.item[operands.count++] = is_in(checked_value().indices, i) ? builder.index_input(name.c_str(), dims)
                                                                          : builder.parameter(name.c_str(), dims);
    }
    first_result = builder.apply(checked_.op, "checked", operands, how);
    if (model().status.code != graph_code::ok)
      complaint = std::string("it does not bind: ") + name_of(model().status.code) +
                  text_of_shapes(model(), operands.item, operands.count);
  }

  void fill() {
    operand.resize(static_cast<std::size_t>(op().operand_count));
    for (int i = 0; i < op().operand_count; ++i) {
      const graph_tensor& t = model().tensor[op().operand[i]];
      sampled_block& b = operand[static_cast<std::size_t>(i)];
      if (holds_numbers(i)) {
        b.number.resize(static_cast<std::size_t>(elements_of(t)));
        fill_numbers(b.number, t.shape.rank == 0 ? 1 : t.shape.extent[t.shape.rank - 1]);
      } else {
        b.value = random_.values(static_cast<std::size_t>(elements_of(t)), is_in(positive, i));
      }
    }
  }

  /// Those of one row are distinct as far as there are so many, as a router's choices are.
  void fill_numbers(std::vector<std::int32_t>& number, extent_t row) {
    extent_t limit = options_.rows;
    for (int f = 0; f < rule().factor_count; ++f)
      if (value().index_below != '\0' && rule().factor[f].letter == value().index_below) limit = op().loop[f].extent;
    for (std::size_t i = 0; i < number.size(); ++i) {
      const std::size_t first = i - i % static_cast<std::size_t>(row);
      std::int32_t n = static_cast<std::int32_t>(random_.below(limit));
      const auto taken = [&] {
        return std::find(number.begin() + static_cast<std::ptrdiff_t>(first),
                         number.begin() + static_cast<std::ptrdiff_t>(i),
                         n) != number.begin() + static_cast<std::ptrdiff_t>(i);
      };
      for (extent_t tries = 0; tries < limit && taken(); ++tries) n = static_cast<std::int32_t>((n + 1) % limit);
      number[i] = value().index_or_negative && random_.below(5) == 0 ? -1 : n;
    }
  }

  const checked_operator& checked_;
  const operator_options& how_;
  const operator_check_options& options_;
  sample_numbers random_;
};

}}}  // namespace hyperparallel::v0_2::detail
