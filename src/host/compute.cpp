// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/compute.h"

#include "backend/adamw.h"
#include "host/element_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace ncclprobe::host {

using model::DataType;
using model::GemmLayout;

namespace {

// C is computed in tiles. For each tile, strips of A and B are copied as f32 in the order in which
// the innermost loop reads them. This keeps a small block of C in registers.
constexpr std::uint64_t k_tile = 64;   // rows and columns of C
constexpr std::uint64_t k_depth = 256; // columns of A, rows of B
constexpr std::uint64_t k_rows = 8;    // of the small block
constexpr std::uint64_t k_columns = 4;

using Four = float __attribute__((vector_size(16)));
constexpr std::uint64_t k_fours = k_rows / 4;

// A matrix whose "lines" are contiguous in memory, one after the other.
struct Lines {
  const std::byte* data;
  DataType type;
  std::uint64_t length; // elements of a line

  void read(std::uint64_t line, std::uint64_t first, std::uint64_t count, float* into) const {
    to_floats(type, data + (line * length + first) * size_bytes(type), into, count);
  }
};

class Packed {
public:
  // Element (outer, inner) of a strip: `outer` runs over rows of A or columns of B, `inner` over
  // the sum. `width` neighbours in `outer` lie together.
  explicit Packed(std::uint64_t width) : width_(width), values_(k_tile * k_depth) {}
  const float* group(std::uint64_t outer) const { return &values_[outer * k_depth]; }

  // `lines_are_outer`: each line of the matrix holds one row of A or column of B.
  void fill(const Lines& lines, bool lines_are_outer, std::uint64_t first_outer,
            std::uint64_t outers, std::uint64_t first_inner, std::uint64_t inners) {
    std::ranges::fill(values_, 0.0F); // missing elements add nothing
    std::array<float, std::max(k_tile, k_depth)> line;
    if (lines_are_outer) {
      for (std::uint64_t outer = 0; outer < outers; ++outer) {
        lines.read(first_outer + outer, first_inner, inners, line.data());
        for (std::uint64_t inner = 0; inner < inners; ++inner)
          at(outer, inner) = line[inner];
      }
      return;
    }
    for (std::uint64_t inner = 0; inner < inners; ++inner) {
      lines.read(first_inner + inner, first_outer, outers, line.data());
      for (std::uint64_t outer = 0; outer < outers; ++outer)
        at(outer, inner) = line[outer];
    }
  }

private:
  float& at(std::uint64_t outer, std::uint64_t inner) {
    return values_[outer / width_ * width_ * k_depth + inner * width_ + outer % width_];
  }
  std::uint64_t width_;
  std::vector<float> values_;
};

void add_block(const float* a, const float* b, std::uint64_t depth, float* c) {
  Four sums[k_columns][k_fours] = {};
  for (std::uint64_t p = 0; p < depth; ++p, a += k_rows, b += k_columns) {
    Four rows[k_fours];
    std::memcpy(rows, a, sizeof rows);
    for (std::uint64_t j = 0; j < k_columns; ++j)
      for (std::uint64_t i = 0; i < k_fours; ++i)
        sums[j][i] += rows[i] * b[j];
  }
  for (std::uint64_t j = 0; j < k_columns; ++j) {
    Four column[k_fours];
    std::memcpy(column, c + j * k_tile, sizeof column);
    for (std::uint64_t i = 0; i < k_fours; ++i)
      column[i] += sums[j][i];
    std::memcpy(c + j * k_tile, column, sizeof column);
  }
}

struct Workspace {
  Packed a{k_rows};
  Packed b{k_columns};
  std::array<float, k_tile * k_tile> c;
};

void multiply_one(const Gemm& gemm, Workspace& work, const std::atomic<bool>& stop) {
  bool a_transposed = gemm.layout == GemmLayout::tn;
  bool b_transposed = gemm.layout == GemmLayout::nt;
  Lines a{gemm.a, gemm.type, a_transposed ? gemm.k : gemm.m};
  Lines b{gemm.b, gemm.type, b_transposed ? gemm.n : gemm.k};
  for (std::uint64_t j = 0; j < gemm.n; j += k_tile)
    for (std::uint64_t i = 0; i < gemm.m; i += k_tile) {
      if (stop)
        return;
      std::uint64_t columns = std::min(k_tile, gemm.n - j);
      std::uint64_t rows = std::min(k_tile, gemm.m - i);
      work.c.fill(0);
      for (std::uint64_t p = 0; p < gemm.k; p += k_depth) {
        std::uint64_t depth = std::min(k_depth, gemm.k - p);
        work.a.fill(a, a_transposed, i, rows, p, depth);
        work.b.fill(b, !b_transposed, j, columns, p, depth);
        for (std::uint64_t jj = 0; jj < columns; jj += k_columns)
          for (std::uint64_t ii = 0; ii < rows; ii += k_rows)
            add_block(work.a.group(ii), work.b.group(jj), depth, &work.c[jj * k_tile + ii]);
      }
      for (std::uint64_t jj = 0; jj < columns; ++jj)
        from_floats(gemm.type, &work.c[jj * k_tile],
                    gemm.c + ((j + jj) * gemm.m + i) * size_bytes(gemm.type), rows);
    }
}

// Calls f(first element, count, floats of them) for pieces that stay in the cache.
constexpr std::uint64_t k_piece = 2048;
template <typename Act>
void in_pieces(std::uint64_t count, Act act) {
  for (std::uint64_t at = 0; at < count; at += k_piece)
    act(at, std::min(k_piece, count - at));
}

} // namespace

void multiply(const Gemm& gemm, const std::atomic<bool>& stop) {
  Workspace work;
  Gemm one = gemm;
  std::uint64_t element = size_bytes(gemm.type);
  for (std::uint64_t i = 0; i < gemm.batch && !stop; ++i) {
    multiply_one(one, work, stop);
    one.a += gemm.m * gemm.k * element;
    one.b += gemm.k * gemm.n * element;
    one.c += gemm.m * gemm.n * element;
  }
}

void convert(const std::byte* from, DataType from_type, std::byte* into, DataType into_type,
             std::uint64_t count) {
  if (from_type == into_type) { // nothing to round
    std::memmove(into, from, count * size_bytes(from_type));
    return;
  }
  std::array<float, k_piece> floats;
  in_pieces(count, [&](std::uint64_t at, std::uint64_t some) {
    to_floats(from_type, from + at * size_bytes(from_type), floats.data(), some);
    from_floats(into_type, floats.data(), into + at * size_bytes(into_type), some);
  });
}

void optimize(const std::byte* gradients, std::byte* weights, std::byte* state, DataType type,
              std::uint64_t count) {
  using namespace backend::adamw;
  auto* first = reinterpret_cast<float*>(state);
  float* second = first + count;
  std::array<float, k_piece> g;
  std::array<float, k_piece> w;
  in_pieces(count, [&](std::uint64_t at, std::uint64_t some) {
    to_floats(type, gradients + at * size_bytes(type), g.data(), some);
    to_floats(type, weights + at * size_bytes(type), w.data(), some);
    for (std::uint64_t i = 0; i < some; ++i) {
      float& m = first[at + i];
      float& v = second[at + i];
      m += (1 - k_first_decay) * (g[i] - m);
      v = k_second_decay * v + (1 - k_second_decay) * g[i] * g[i];
      w[i] -= k_learning_rate * (m / (std::sqrt(v) + k_epsilon) + k_weight_decay * w[i]);
    }
    from_floats(type, w.data(), weights + at * size_bytes(type), some);
  });
}

} // namespace ncclprobe::host
