// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text that is learnt: its bytes, split into a training and a validation part, cut into batches, and what a bigram
// model makes of it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <hyperparallel/io/text_file.hpp>
#include <hyperparallel/kernels/keyed_random.hpp>

namespace train_text {

namespace hp = hyperparallel;

/// The bytes of a file, or of every file in a folder, in the order of their names; links are not followed.
inline std::vector<std::uint8_t> read_text(const std::string& path) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(path)) {
    files.emplace_back(path);
  } else {
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  }
  std::vector<std::uint8_t> text;
  for (const std::filesystem::path& file : files) {
    const auto bytes = hp::read_bytes(file.string());
    text.insert(text.end(), bytes.begin(), bytes.end());
  }
  return text;
}

/// Tokens and the tokens that follow them, rows of one length.
struct token_batch {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> labels;
};

inline void append_row(token_batch& b, std::span<const std::uint8_t> text, std::size_t at, std::size_t length) {
  for (std::size_t i = 0; i < length; ++i) {
    b.tokens.push_back(text[at + i]);
    b.labels.push_back(text[at + i + 1]);
  }
}

/// Rows from random places: a function of the seed and the number of the batch alone. Domain: text.size() > length.
inline token_batch random_batch(std::span<const std::uint8_t> text, std::size_t rows, std::size_t length,
                                std::uint64_t seed, std::uint64_t number) {
  token_batch b;
  for (std::size_t r = 0; r < rows; ++r)
    append_row(b, text, hp::keyed_bits(seed, number, r) % (text.size() - length), length);
  return b;
}

/// H(x_t | x_t-1) of `text` in nats under add-one bigram counts of `training`.
inline double bigram_entropy(std::span<const std::uint8_t> training, std::span<const std::uint8_t> text) {
  std::vector<std::array<double, 256>> count(256);
  std::array<double, 256> total{};
  for (auto& row : count) row.fill(1);
  total.fill(256);
  for (std::size_t i = 0; i + 1 < training.size(); ++i) {
    count[training[i]][training[i + 1]] += 1;
    total[training[i]] += 1;
  }
  double sum = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) sum -= std::log(count[text[i]][text[i + 1]] / total[text[i]]);
  return sum / static_cast<double>(text.size() - 1);
}

}  // namespace train_text
