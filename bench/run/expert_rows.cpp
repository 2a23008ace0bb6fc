// SPDX-License-Identifier: Apache-2.0
// What products of experts take by the slots that tokens took, of a capacity that holds more.
//
//   bench_expert_rows [batch [slots [rounds]]]     default: 4 192 9
//
// 8 experts of 1024 × 1024 floats, `slots` for each batch row and expert, of which the first are filled. In each round the
// product, the gradient of its rows and that of the weight run once for every count of filled slots, on one thread; a
// figure is the median of the rounds' ratios. "of linear" is the time over that of one sixth, over the rows over those of one
// sixth: at most 1 where time follows the rows that came.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <hyperparallel/graph/operator_loops.hpp>
#include <hyperparallel/kernels/ops/contraction.hpp>

#include "alternating.hpp"

namespace {

namespace hp = hyperparallel;
using hp::extent_t;

constexpr struct {
  const char *name, *text;
} products[] = {{"product", "ebch,ehf->ebcf"},
                {"gradient of rows", "ebcf,ehf->ebch"},
                {"gradient of the weight", "ebcf,ebch->ehf"}};

extent_t extent_of(char letter, extent_t batch, extent_t slots) {
  return letter == 'e' ? 8 : letter == 'b' ? batch : letter == 'c' ? slots : 1024;
}

/// A contraction of random blocks, whose slots from `filled` on are zeros.
class expert_product {
 public:
  expert_product(const std::string& text, extent_t batch, extent_t slots, extent_t filled) {
    std::vector<hp::created_dim> created;
    for (const char letter : std::string("ebchf"))
      created.push_back({letter, graph_.dim.push({hp::add_text(graph_, std::string(1, letter).c_str()),
                                                  extent_of(letter, batch, slots)})});
    const std::size_t comma = text.find(','), arrow = text.find('-');
    const std::string part[3] = {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                                 text.substr(arrow + 2)};
    int operand[2] = {};
    for (int i = 0; i < 3; ++i) {
      hp::graph_tensor t;
      for (const char letter : part[i]) {
        for (const hp::created_dim& d : created)
          if (d.letter == letter) t.dim[t.shape.rank] = d.dim;
        t.shape.extent[t.shape.rank++] = extent_of(letter, batch, slots);
      }
      block_[i] = random_block(hp::element_count(t.shape).value, part[i].find('c') != std::string::npos, slots, filled);
      if (i < 2) operand[i] = graph_.tensor.push(t);
    }
    op_.kind = hp::id_of<hp::ops::contract>;
    if (hp::bind_loops(graph_, op_, text.c_str(), operand, 2, created.data(), static_cast<int>(created.size())).code !=
        hp::graph_code::ok)
      std::abort();
    call_.attributes = &op_;
    call_.rule = &graph_.rule_of(op_);
    for (int l = 0; l < op_.loop_count; ++l) call_.loop[l] = {0, op_.loop[l].extent, op_.loop[l].extent};
    for (int i = 0; i < 2; ++i) call_.operand[i] = block_[i].data();
    call_.result[0] = block_[2].data();
  }
  expert_product(const expert_product&) = delete;
  expert_product& operator=(const expert_product&) = delete;

  void run() const { hp::kernels::contract_kernel<float>(call_); }

 private:
  static std::vector<float> random_block(extent_t elements, bool of_slots, extent_t slots, extent_t filled) {
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> any(-1, 1);
    std::vector<float> block(static_cast<std::size_t>(elements));
    for (extent_t i = 0; i < elements; ++i)
      if (!of_slots || i / 1024 % slots < filled) block[static_cast<std::size_t>(i)] = any(random);
    return block;
  }

  hp::graph graph_;
  hp::graph_operator op_;
  hp::operator_call call_;
  std::vector<float> block_[3];
};

}  // namespace

int main(int count, char** argument) {
  const extent_t batch = count > 1 ? std::atoi(argument[1]) : 4, slots = count > 2 ? std::atoi(argument[2]) : 192;
  const int rounds = count > 3 ? std::atoi(argument[3]) : 9;
  if (batch < 1 || slots < 12 || rounds < 1) {
    std::fprintf(stderr, "bench_expert_rows [batch >= 1 [slots >= 12 [rounds >= 1]]]\n");
    return 2;
  }
  bench::quiet_gate gate(20);
  for (const auto& p : products) {
    bench::alternation turns(gate);
    std::vector<extent_t> filled;
    for (int half = 2; half <= 12; ++half) {
      filled.push_back(slots * half / 12);
      const auto product = std::make_shared<expert_product>(p.text, batch, slots, filled.back());
      turns.add([product] { return bench::time_ns([&] { product->run(); }); });
    }
    turns.run(rounds);
    std::printf("%s, %lld x %lld slots an expert\n  filled        ms   of full  of linear\n", p.name,
                static_cast<long long>(batch), static_cast<long long>(slots));
    for (std::size_t i = 0; i < filled.size(); ++i) {
      const double rows = static_cast<double>(filled[i]) / static_cast<double>(filled[0]);
      std::printf("  %6lld  %8.2f  %8.2f  %9.2f\n", static_cast<long long>(filled[i]), turns.median(i) * 1e-6,
                  bench::median(turns.ratios(filled.size() - 1, i)), bench::median(turns.ratios(0, i)) / rows);
    }
  }
  std::printf("%d samples, %d of them disturbed\n", gate.samples(), gate.disturbed());
}
