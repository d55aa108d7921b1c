// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

// Sets of moments as sorted spans that do not touch. Everything is linear in the number of spans;
// only unite() sorts what does not come sorted.
namespace ncclprobe::analysis::timeline {

// From begin to just before end, ns.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t length() const { return end - begin; }
  bool operator==(const Span&) const = default;
};
using Spans = std::vector<Span>;

// Makes a set of spans in any order. Empty and reversed ones are left out.
Spans unite(Spans spans);

// The rest take sets, as unite() makes them.
std::int64_t length(const Spans& set);
Spans intersect(const Spans& a, const Spans& b);
Spans subtract(const Spans& a, const Spans& b);
std::int64_t shared_length(const Spans& a, const Spans& b); // length(intersect(a, b))

// How much of spans asked for in the order of their begins lies in a set.
class CoverMeter {
public:
  explicit CoverMeter(const Spans& set) : set_(&set) {}
  std::int64_t covered(Span span);

private:
  const Spans* set_;
  std::size_t first_ = 0; // set_[first_] is the first that may end after the span's begin
};

// Cuts the windows (sorted, may touch, must not overlap) wherever one of the sets begins or ends,
// and tells of each piece in order: the window, which sets it lies in (bit i: set i), its length.
inline constexpr std::size_t k_most_sets = 8;
using PieceVisitor = std::function<void(std::size_t window, unsigned sets, std::int64_t length)>;
void cut(const Spans& windows, const std::vector<const Spans*>& sets, const PieceVisitor& visit);

} // namespace ncclprobe::analysis::timeline
