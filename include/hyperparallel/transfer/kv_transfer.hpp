// SPDX-License-Identifier: Apache-2.0
#pragma once
// Hands a cache of keys and values from prefill to decode, where both cut it in other ways and have other pages.
//
//   const hp::kv_transfer_plan plan = hp::plan_kv_transfer(prefill, decode, sequences);
//   hp::for_each_kv_copy(plan, [&](const hp::kv_copy& c) { … });      // c.sender → c.receiver, layer by layer
//
// What a rank lacks and who has it, plan_relocation says of each sequence as a tensor (tokens, heads, head_dim); pages
// are the last step, a translation of addresses. Where several ranks have a piece, its blocks are dealt one by one to
// the one that has sent least, and each layer begins one replica further.
// Laws: each row of a decode rank is written once, from the row of the same token and head; each rank receives what it
// needs and does not hold, the least of any program; within a layer the replicas of a piece send alike, up to the
// largest block; over a number of layers that the replicas divide, alike. A layer is complete when the copies up to
// `copies_until(plan, layer)` are done, whatever comes later. The copies of all layers and planes are one list.
// Both pools are memory of their own, also where a rank is on both sides. Units: bytes.

#include <cstddef>
#include <span>
#include <vector>

#include <hyperparallel/redistribution/relocation_certificate.hpp>
#include <hyperparallel/transfer/kv_transfer_error.hpp>

namespace hyperparallel { inline namespace v0_2 {

/// `runs` runs of `run` bytes in one page on each side, the same in every plane of every layer.
struct kv_page_copy {
  int sequence = 0;
  int receiver = 0;  ///< position
  int piece = 0;     ///< first position of those that have it; the receiver's own on the prefill side where it is local
  int turn = 0;      ///< which of them sends it in the first layer
  bool is_local = false;
  kv_address source{}, target{};
  extent_t run = 0, runs = 1;
  extent_t source_step = 0, target_step = 0;  ///< from one run to the next
};

struct kv_transfer_plan {
  kv_cache_shape cache{};
  std::vector<int> senders{}, receivers{};    ///< ranks, by position
  int replicas = 1;                           ///< positions that have one piece of the prefill side
  std::vector<kv_page_copy> copies{};         ///< of one plane of one layer
  std::vector<extent_t> received{}, least{};  ///< by each receiver, in all
  std::vector<extent_t> sent{};               ///< by each sender, in all
};

/// A copy of one plane of one layer. `sender` and `receiver` are ranks; equal: a local copy.
struct kv_copy {
  int layer = 0, plane = 0;
  int sender = 0, receiver = 0;
  kv_page_copy what{};
};

namespace detail {

/// Position that sends a copy in a layer.
constexpr int kv_sender(const kv_transfer_plan& p, const kv_page_copy& c, int layer) {
  return c.is_local ? c.piece : c.piece + static_cast<int>((extent_t{c.turn} + layer) % p.replicas);
}

/// Writes the copies of one plane of one layer.
class kv_planner {
 public:
  constexpr kv_planner(const kv_pool& prefill, const kv_pool& decode, kv_transfer_plan& plan)
      : from_(prefill), to_(decode), source_(page_form(prefill)), target_(page_form(decode)), plan_(plan) {
    for (int p = 0; p < prefill.ranks.count; ++p)
      load_.push_back(0);  // resize is no constant of libstdc++ 12 and clang
    for (int q = 0; q < decode.ranks.count; ++q) received_.push_back(0);
  }

  constexpr void add(int number, const kv_sequence& s) {
    const relocation r = plan_relocation(kv_side(from_, s.tokens), kv_side(to_, s.tokens));
    if (r.code != relocation_code::ok) refuse_overflow();  // all else has been checked
    for (int q = 0; q < to_.ranks.count; ++q) {
      const box own = kv_slice(to_, s.tokens, q);
      const int here = position_in(from_.ranks, rank_at(to_.ranks, q));
      int last = -1;
      const auto take = [&](int sender) {  // all parts that one piece gives
        const bool is_local = sender == here;
        const int piece = is_local ? here : sender / plan_.replicas * plan_.replicas;
        if (piece == last) return;
        last = piece;
        const box held = kv_slice(from_, s.tokens, piece);
        copy_cell(s, {number, q, piece, 0, is_local, {}, {}, 0, 1, 0, 0}, held, own, intersection(held, own));
      };
      if (r.plan.step_count == 0)
        take(here);
      else
        for_each_transfer(r, 0, q, [&](const relocated& t) { take(t.sender); });
      plan_.least[static_cast<std::size_t>(q)] += lacking(s.tokens, own, here) * bytes_of_element_in_all();
    }
  }

  /// Totals over planes and layers. O(layers · ranks).
  constexpr void finish() {
    const extent_t layers = plan_.cache.layers, planes = plan_.cache.planes;
    for (std::size_t q = 0; q < received_.size(); ++q) plan_.received[q] = received_[q] * layers * planes;
    for (std::size_t p = 0; p < load_.size(); ++p) {
      const extent_t first = static_cast<extent_t>(p) / plan_.replicas * plan_.replicas,
                     own = static_cast<extent_t>(p) - first;
      for (extent_t turn = 0; turn < plan_.replicas; ++turn) {  // that of layers own − turn, own − turn + replicas, …
        const extent_t before = (own - turn + plan_.replicas) % plan_.replicas;
        const extent_t met = layers > before ? ceil_divide(layers - before, plan_.replicas) : 0;
        plan_.sent[p] += load_[static_cast<std::size_t>(first + turn)] * met * planes;
      }
    }
  }

 private:
  constexpr extent_t bytes_of_element_in_all() const {
    return extent_t{plan_.cache.layers} * plan_.cache.planes * plan_.cache.element_bytes;
  }
  constexpr extent_t lacking(extent_t tokens, const box& own, int here) const {
    return volume(own) - (here < 0 ? 0 : volume(intersection(own, kv_slice(from_, tokens, here))));
  }

  /// The replica of the copy's piece that has sent least.
  constexpr int turn_of(const kv_page_copy& c) const {
    int best = 0;
    const auto load = [&](int turn) { return load_[static_cast<std::size_t>(c.piece + turn)]; };
    for (int turn = 1; turn < plan_.replicas; ++turn)
      if (load(turn) < load(best)) best = turn;
    return best;
  }

  /// Block by block: the tokens that lie in one page on either side.
  constexpr void copy_cell(const kv_sequence& s, kv_page_copy c, const box& held, const box& own, const box& cell) {
    const extent_t heads = cell.dim[1].end - cell.dim[1].begin;
    for (extent_t t = cell.dim[0].begin, n = 0; heads > 0 && t < cell.dim[0].end; t += n) {
      n = cell.dim[0].end - t;
      n = smaller(n, from_.page_tokens - (t - held.dim[0].begin) % from_.page_tokens);
      n = smaller(n, to_.page_tokens - (t - own.dim[0].begin) % to_.page_tokens);
      c.source = address_of(from_, source_, s.prefill_table, held, t, cell.dim[1].begin);
      c.target = address_of(to_, target_, s.decode_table, own, t, cell.dim[1].begin);
      if (!c.is_local) {
        const extent_t bytes = n * heads * source_.row;
        c.turn = turn_of(c);
        load_[static_cast<std::size_t>(c.piece + c.turn)] += bytes;
        received_[static_cast<std::size_t>(c.receiver)] += bytes;
      }
      copy_block(c, n, heads);
    }
  }

  /// In the longest runs that both pages have.
  constexpr void copy_block(kv_page_copy c, extent_t tokens, extent_t heads) {
    if (source_.head == source_.row && target_.head == target_.row && heads > 1) {
      push(c, source_.row * heads, tokens, source_.token, target_.token);
    } else if (source_.token == source_.row && target_.token == target_.row) {
      push(c, source_.row * tokens, heads, source_.head, target_.head);
    } else {
      for (extent_t h = 0; h < heads; ++h) {
        push(c, source_.row, tokens, source_.token, target_.token);
        c.source.offset += source_.head;
        c.target.offset += target_.head;
      }
    }
  }
  constexpr void push(kv_page_copy c, extent_t run, extent_t runs, extent_t source_step, extent_t target_step) {
    const bool is_one = runs == 1 || (source_step == run && target_step == run);
    c.run = is_one ? run * runs : run;
    c.runs = is_one ? 1 : runs;
    c.source_step = is_one ? 0 : source_step;
    c.target_step = is_one ? 0 : target_step;
    plan_.copies.push_back(c);
  }

  const kv_pool& from_;
  const kv_pool& to_;
  kv_page_form source_, target_;
  kv_transfer_plan& plan_;
  std::vector<extent_t> load_, received_;  ///< of one plane of one layer; by turns of the first layer
};

}  // namespace detail

/// Plans the transfer. Throws kv_transfer_error. O(sequences · decode ranks · prefill ranks + copies · replicas).
constexpr kv_transfer_plan plan_kv_transfer(const kv_pool& prefill, const kv_pool& decode,
                                            std::span<const kv_sequence> sequences) {
  detail::check_kv_transfer(prefill, decode, sequences);
  kv_transfer_plan plan;
  plan.cache = prefill.cache;
  plan.replicas = detail::kv_replicas(prefill);
  for (int p = 0; p < prefill.ranks.count; ++p) {
    plan.senders.push_back(rank_at(prefill.ranks, p));
    plan.sent.push_back(0);
  }
  for (int q = 0; q < decode.ranks.count; ++q) {
    plan.receivers.push_back(rank_at(decode.ranks, q));
    plan.received.push_back(0);
    plan.least.push_back(0);
  }
  detail::kv_planner planner(prefill, decode, plan);
  for (std::size_t s = 0; s < sequences.size(); ++s) planner.add(static_cast<int>(s), sequences[s]);
  planner.finish();
  return plan;
}

/// Calls visit(kv_copy) for the copies of all layers, in the order of the plan.
template <class Visit>
constexpr void for_each_kv_copy(const kv_transfer_plan& p, Visit&& visit) {
  for (int layer = 0; layer < p.cache.layers; ++layer)
    for (int plane = 0; plane < p.cache.planes; ++plane)
      for (const kv_page_copy& c : p.copies)
        visit(kv_copy{layer, plane, p.senders[static_cast<std::size_t>(detail::kv_sender(p, c, layer))],
                      p.receivers[static_cast<std::size_t>(c.receiver)], c});
}

/// Copies after which a layer is complete on every rank.
constexpr extent_t copies_until(const kv_transfer_plan& p, int layer) {
  return (extent_t{layer} + 1) * p.cache.planes * static_cast<extent_t>(p.copies.size());
}

/// Bytes that all ranks together have received then.
constexpr extent_t bytes_until(const kv_transfer_plan& p, int layer) {
  extent_t bytes = 0;
  for (const extent_t r : p.received) bytes += r / p.cache.layers * (extent_t{layer} + 1);
  return bytes;
}

/// What the senders send.
struct kv_sender_load {
  extent_t heaviest = 0;
  extent_t all = 0;
  double over_mean = 1;  ///< the heaviest over the mean; 1 where nothing is sent
};

constexpr kv_sender_load sender_load(const kv_transfer_plan& p) {
  kv_sender_load load;
  for (const extent_t s : p.sent) {
    load.heaviest = larger(load.heaviest, s);
    load.all += s;
  }
  if (load.all > 0)
    load.over_mean =
        static_cast<double>(load.heaviest) * static_cast<double>(p.sent.size()) / static_cast<double>(load.all);
  return load;
}

}}  // namespace hyperparallel::v0_2
