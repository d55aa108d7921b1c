// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// How long libncclprobe-tuner.so takes to decide about a call, by the number of rows for the
// communicator, beside a scan of all rows as NVIDIA's example tuner does it (without its log
// calls). Usage: tuner_bench <libncclprobe-tuner.so>
#include "plugin/tuner/abi.h"
#include "tuning/table_file.h"

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "support/scratch_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace {

using namespace ncclprobe;

constexpr int k_all_reduce = 4;
constexpr int k_calls = 200'000;
constexpr int k_turns = 7;

// Rows of 1024 sizes each.
tuning::Table table_of(int rows) {
  tuning::Table table;
  for (int i = 0; i < rows; ++i)
    table.rows.push_back({model::Collective::all_reduce, std::uint64_t(i) * 1024,
                          std::uint64_t(i) * 1024 + 1023, 8, 1, std::nullopt, tuning::Choice{}, 8,
                          tuning::Estimate{30, 30}});
  return table;
}

using CostTable = std::array<float, 21>;

void scan(const std::vector<tuning::Row>& rows, std::uint64_t bytes, CostTable& costs,
          int& channels) {
  channels = 1;
  for (const tuning::Row& row : rows)
    if (row.collective == model::Collective::all_reduce && bytes >= row.min_bytes &&
        bytes <= row.max_bytes && row.nodes == 1 && row.ranks == 8) {
      float& cost = costs[static_cast<std::size_t>(row.choice->algorithm) * 3 +
                          static_cast<std::size_t>(row.choice->protocol)];
      if (cost != -1.0F) {
        cost = 0;
        channels = row.channels;
      }
      return;
    }
}

// Nanoseconds per call: the least of several turns, over sizes in mixed order.
template <typename Decide>
double ns_per_call(int rows, Decide decide) {
  double least = 1e9;
  int sum = 0;
  for (int turn = 0; turn < k_turns; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < k_calls; ++i) {
      CostTable costs;
      costs.fill(30);
      int channels = 0;
      decide(std::uint64_t(i * 7919 % rows) * 1024, costs, channels);
      sum += channels;
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    least = std::min(least, taken.count() / k_calls);
  }
  if (sum != 8 * k_calls * k_turns)
    std::abort(); // some call had no row
  return least;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    return 2;
  std::string lines =
      fmt::format("{:>6} {:>12} {:>12} {:>8}\n", "rows", "plugin ns", "scan ns", "scan/plugin");
  for (int rows : {1, 10, 100, 1000}) {
    support::ScratchFolder folder;
    const tuning::Table table = table_of(rows);
    const std::filesystem::path file = folder / "table.csv";
    if (!base::write_file_atomically(file, to_text(table)))
      return 1;
    const std::string reference =
        to_text(tuning::TableReference{file, base::sha256(to_text(table))});
    // A copy of the library for each table, because a process has one table.
    const std::filesystem::path copy = folder / "tuner.so";
    std::filesystem::copy_file(argv[1], copy);
    setenv("NCCLPROBE_TUNER_TABLE", reference.c_str(), 1);
    void* library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto* tuner =
        library == nullptr
            ? nullptr
            : static_cast<plugin::tuner_abi::TunerV6*>(dlsym(library, "ncclTunerPlugin_v6"));
    void* context = nullptr;
    if (tuner == nullptr || tuner->init(&context, 1, 8, 1, nullptr, nullptr, nullptr) != 0)
      return 1;
    const double ours =
        ns_per_call(rows, [&](std::uint64_t bytes, CostTable& costs, int& channels) {
          tuner->get_coll_info(context, k_all_reduce, bytes, 1,
                               reinterpret_cast<float**>(costs.data()), 7, 3, 0, &channels);
        });
    const double scanned =
        ns_per_call(rows, [&](std::uint64_t bytes, CostTable& costs, int& channels) {
          scan(table.rows, bytes, costs, channels);
        });
    lines +=
        fmt::format("{:>6} {:>12.1f} {:>12.1f} {:>8.2f}\n", rows, ours, scanned, scanned / ours);
  }
  fmt::print("{}", lines);
  return 0;
}
