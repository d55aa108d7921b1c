// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// How fast the data check writes inputs and compares results, beside poisoning the same memory
// (which only writes it): pattern_bench [cpu|gpu] [MiB]. Best of ten, GB of data a second.
#include "base/clock.h"
#include "host/host_backend.h"
#include "model/data_pattern.h"
#include "nvidia/factory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace {

using namespace ncclprobe;
using model::Collective;
using model::DataType;
using model::ReduceOp;

template <typename Act>
double gb_per_s(std::uint64_t bytes, Act act) {
  std::int64_t best_ns = INT64_MAX;
  for (int i = 0; i < 10; ++i) {
    std::int64_t begin_ns = base::monotonic_ns();
    act();
    best_ns = std::min(best_ns, base::monotonic_ns() - begin_ns);
  }
  return static_cast<double>(bytes) / static_cast<double>(best_ns);
}

void measure(backend::Buffer& buffer, DataType type) {
  std::uint64_t bytes = buffer.size_bytes();
  std::uint64_t count = bytes / size_bytes(type);
  fmt::print("{:<7}", model::to_string(type));
  auto print = [&](Collective collective, ReduceOp op, int ranks) {
    auto pattern = model::pattern_for(1, collective, type, op, ranks);
    auto expected = model::expectation_for(collective, op, 0, count, 0, ranks);
    double fill = gb_per_s(bytes, [&] { buffer.fill(0, type, pattern, 0, count); });
    double compare = gb_per_s(bytes, [&] { buffer.compare(0, type, pattern, expected); });
    fmt::print(" {:8.2f} {:8.2f}", fill, compare);
  };
  print(Collective::broadcast, ReduceOp::sum, 2);
  print(Collective::all_reduce, ReduceOp::sum, 2);
  print(Collective::all_reduce, ReduceOp::sum, 8);
  print(Collective::all_reduce, ReduceOp::max, 8);
  print(Collective::all_reduce, ReduceOp::prod, 8);
  fmt::print("\n");
}

} // namespace

int main(int argc, char** argv) {
  bool gpu = argc > 1 && std::string_view(argv[1]) == "gpu";
  std::uint64_t mib = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : gpu ? 1024 : 16;
  auto backend = gpu ? nvidia::make_backend({}) : host::make_backend({});
  auto device = backend->open_device(0);
  auto buffer = device->allocate(mib << 20);
  fmt::print("{} MiB on the {}, GB/s. poison {:.2f}\n", mib, gpu ? "GPU" : "CPU",
             gb_per_s(buffer->size_bytes(), [&] { buffer->poison(); }));
  fmt::print("{:<7}", "");
  for (const char* what : {"copy", "sum of 2", "sum of 8", "max of 8", "prod of 8"})
    fmt::print(" {:>17}", what);
  fmt::print("\n{:<7}", "");
  for (int i = 0; i < 5; ++i)
    fmt::print(" {:>8} {:>8}", "fill", "compare");
  fmt::print("\n");
  for (const auto& [type, name] : enum_names(DataType{}))
    measure(*buffer, type);
}
