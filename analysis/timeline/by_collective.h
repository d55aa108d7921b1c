// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/hash.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::timeline {

// The same on all ranks that take part in a collective, and unique in a trace. An operation of a
// schedule has one communicator, so the key does not need its number.
struct CollectiveKey {
  std::uint64_t where = 0; // communicator and function, or cell, batch and name
  std::uint64_t which = 0; // sequence number, or iteration and operation
  bool operator==(const CollectiveKey&) const = default;
};

// A value for each collective, in the order in which they were added. Captures have many millions
// of collectives: open addressing takes a third of the memory of the standard's map.
template <typename T>
class ByCollective {
public:
  // Place in all(). Ranks ask in nearly the same order, so `hint`, kept by the caller from 0 on,
  // usually avoids the search.
  std::optional<std::size_t> find(const CollectiveKey& key, std::size_t& hint) const {
    if (hint < keys_.size() && keys_[hint] == key)
      return hint++;
    if (index_.empty())
      return std::nullopt;
    const std::uint32_t found = index_[slot_of(key)];
    if (found == 0)
      return std::nullopt;
    hint = found;
    return found - 1;
  }
  // Adds a default value if the key is new (second: true).
  std::pair<T&, bool> try_emplace(const CollectiveKey& key, std::size_t& hint) {
    if (const auto at = find(key, hint))
      return {all_[*at], false};
    grow();
    index_[slot_of(key)] = static_cast<std::uint32_t>(all_.size() + 1);
    keys_.push_back(key);
    hint = all_.size() + 1;
    return {all_.emplace_back(), true};
  }
  const std::vector<T>& all() const { return all_; }
  const std::vector<CollectiveKey>& keys() const { return keys_; }

private:
  std::size_t slot_of(const CollectiveKey& key) const { // its own, or an empty one
    const std::size_t mask = index_.size() - 1;         // the size is a power of two
    std::size_t slot = base::mixed(key.where ^ base::mixed(key.which)) & mask;
    while (index_[slot] != 0 && !(keys_[index_[slot] - 1] == key))
      slot = (slot + 1) & mask;
    return slot;
  }
  // At most two of three places are taken.
  void grow() {
    if (3 * (keys_.size() + 1) <= 2 * index_.size())
      return;
    index_.assign(std::max<std::size_t>(16, 2 * index_.size()), 0);
    for (std::size_t i = 0; i < keys_.size(); ++i)
      index_[slot_of(keys_[i])] = static_cast<std::uint32_t>(i + 1);
  }

  std::vector<CollectiveKey> keys_;
  std::vector<T> all_;
  std::vector<std::uint32_t> index_; // place + 1, or 0
};

} // namespace ncclprobe::analysis::timeline
