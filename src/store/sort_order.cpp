// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/sort_order.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ncclprobe::store {
namespace {

constexpr unsigned k_digit_bits = 11;
constexpr std::size_t k_digits = 1 << k_digit_bits;

} // namespace

// Radix sort over the bits in which the keys differ: a trial of ten seconds has 34 of them.
std::vector<std::uint32_t> sort_order(std::span<const std::uint64_t> keys) {
  if (std::ranges::is_sorted(keys))
    return {};
  struct Item {
    std::uint64_t key;
    std::uint32_t position;
  };
  auto [least, most] = std::ranges::minmax(keys);
  std::vector<Item> items(keys.size());
  std::vector<Item> other(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    items[i] = {keys[i] - least, static_cast<std::uint32_t>(i)};
  for (unsigned shift = 0; shift < 64 && (most - least) >> shift > 0; shift += k_digit_bits) {
    auto digit = [&](const Item& item) { return item.key >> shift & (k_digits - 1); };
    std::array<std::size_t, k_digits> next{};
    for (const Item& item : items)
      ++next[digit(item)];
    std::size_t sum = 0;
    for (std::size_t& one : next)
      sum += std::exchange(one, sum);
    for (const Item& item : items)
      other[next[digit(item)]++] = item;
    items.swap(other);
  }
  std::vector<std::uint32_t> order(keys.size());
  std::ranges::transform(items, order.begin(), &Item::position);
  return order;
}

} // namespace ncclprobe::store
