// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

// Sets of moments as sorted spans that do not touch. Everything is linear in the number of spans;
// only unite() sorts.
namespace ncclprobe::analysis::timeline {

// From begin to just before end, ns.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t length() const { return end - begin; }
  bool operator==(const Span&) const = default;
};
using Spans = std::vector<Span>;

// Makes a set from spans in any order. Empty and reversed ones are omitted.
Spans unite(Spans spans);

// The other functions take sets from unite().
std::int64_t length(const Spans& set);
Spans intersect(const Spans& a, const Spans& b);
Spans subtract(const Spans& a, const Spans& b);
std::int64_t shared_length(const Spans& a, const Spans& b); // length(intersect(a, b))

// How much of a span lies in a set, for spans in the order of their starts.
class CoverMeter {
public:
  explicit CoverMeter(const Spans& set) : set_(&set) {}
  std::int64_t covered(Span span);

private:
  const Spans* set_;
  std::size_t first_ = 0; // set_[first_] is the first that may end after the span's begin
};

// Cuts the windows (sorted, may touch, must not overlap) wherever one of the sets begins or ends,
// and reports each piece in order: the window, the sets that contain it (bit i: set i), its length.
inline constexpr std::size_t k_most_sets = 8;
using PieceVisitor = std::function<void(std::size_t window, unsigned sets, std::int64_t length)>;
void cut(const Spans& windows, const std::vector<const Spans*>& sets, const PieceVisitor& visit);

} // namespace ncclprobe::analysis::timeline
