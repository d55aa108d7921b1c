// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/nvbandwidth_json.h"

#include "analysis/imports/json_access.h"
#include "base/units.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ncclprobe::analysis::imports {
namespace {

using model::P2pDirection;
using model::P2pLabel;
using model::P2pMethod;
using model::P2pTransfer;

constexpr int k_copies_per_sample = 16; // loopCount: its default, which its help does not show
constexpr std::size_t k_most_gpus = 1024;

// How a test case maps to ours. Rows and columns are those of the code (testcases_ce.cpp,
// testcases_sm.cpp): the row's GPU drives the copy, and reads from the column's GPU or writes to
// it. The descriptions in the document have the arrows the other way round.
enum class Shape { to_host, from_host, written, read };
struct TestCase {
  std::string_view name;
  P2pMethod method;
  P2pDirection direction;
  Shape shape;
};
constexpr std::array<TestCase, 11> k_test_cases{{
    {"host_to_device_memcpy_ce", P2pMethod::host, P2pDirection::uni, Shape::from_host},
    {"device_to_host_memcpy_ce", P2pMethod::host, P2pDirection::uni, Shape::to_host},
    {"device_to_device_memcpy_write_ce", P2pMethod::ce, P2pDirection::uni, Shape::written},
    {"device_to_device_memcpy_read_ce", P2pMethod::ce_read, P2pDirection::uni, Shape::read},
    {"device_to_device_memcpy_write_sm", P2pMethod::sm_write, P2pDirection::uni, Shape::written},
    {"device_to_device_memcpy_read_sm", P2pMethod::sm_read, P2pDirection::uni, Shape::read},
    {"device_to_device_latency_sm", P2pMethod::latency, P2pDirection::uni, Shape::written},
    {"device_to_device_bidirectional_memcpy_write_ce", P2pMethod::ce, P2pDirection::bi,
     Shape::written},
    {"device_to_device_bidirectional_memcpy_read_ce", P2pMethod::ce_read, P2pDirection::bi,
     Shape::read},
    {"device_to_device_bidirectional_memcpy_write_sm", P2pMethod::sm_write, P2pDirection::bi,
     Shape::written},
    {"device_to_device_bidirectional_memcpy_read_sm", P2pMethod::sm_read, P2pDirection::bi,
     Shape::read},
}};

const TestCase* test_case(std::string_view name) {
  auto found = std::ranges::find(k_test_cases, name, &TestCase::name);
  return found == k_test_cases.end() ? nullptr : &*found;
}

// "0: NVIDIA H100 (00000000:19:00): (node01)"
ImportedRank rank_of(const std::string& text, int index) {
  ImportedRank rank{.rank = index, .device = index};
  const std::size_t host = text.rfind(": (");
  const std::size_t bus = text.rfind(" (", host == std::string::npos ? host : host - 1);
  const std::size_t name = text.find(": ");
  if (host == std::string::npos || bus == std::string::npos || name >= bus)
    return rank;
  rank.gpu = text.substr(name + 2, bus - name - 2);
  rank.pci_bus_id = text.substr(bus + 2, text.find(')', bus) - bus - 2) + ".0";
  rank.hostname = text.substr(host + 3, text.rfind(')') - host - 3);
  return rank;
}

P2pTransfer transfer_of(Shape shape, int row, int column) {
  switch (shape) {
  case Shape::from_host:
    return {{true, column}, {false, column}};
  case Shape::to_host:
    return {{false, column}, {true, column}};
  case Shape::written:
    return {{false, row}, {false, column}};
  case Shape::read:
    return {{false, column}, {false, row}};
  }
  return {};
}

class MatrixReader {
public:
  MatrixReader(ImportedProcess& process, const ImportHints& hints)
      : process_(process), cells_(process.cells), bytes_(hints.buffer_bytes) {}

  // False if it cannot be imported.
  bool add(const TestCase& test, const Json& matrix) {
    if (!matrix.is_array())
      return false;
    const std::size_t gpus = process_.ranks.size();
    const bool of_host = test.shape == Shape::from_host || test.shape == Shape::to_host;
    const bool both = test.direction == P2pDirection::bi;
    // Both ways: the matrix of the measured way, then the way back, then their sums.
    if (matrix.size() != (of_host ? 1 : both ? 3 * gpus : gpus))
      return false;
    for (std::size_t row = 0; row < (of_host ? 1 : gpus); ++row)
      for (std::size_t column = 0; column < gpus; ++column) {
        const auto there = value(matrix, row, column);
        if (!there || (!of_host && row == column))
          continue;
        if (both) {
          if (const auto back = value(matrix, gpus + row, column))
            add_both(test, static_cast<int>(row), static_cast<int>(column), *there, *back);
        } else {
          add_one(test, transfer_of(test.shape, static_cast<int>(row), static_cast<int>(column)),
                  *there);
        }
      }
    return true;
  }

private:
  // "N/A" is no value.
  static std::optional<double> value(const Json& matrix, std::size_t row, std::size_t column) {
    const Json& line = matrix[row];
    if (!line.is_array() || column >= line.size())
      return std::nullopt;
    const auto number = number_in(line[column]);
    return number && *number > 0 ? number : std::nullopt;
  }

  ImportedCell& cell(const TestCase& test, std::vector<P2pTransfer> transfers) {
    model::CellLabel label{.bytes = bytes_,
                           .type = bytes_ % 8 == 0 ? model::DataType::u64 : model::DataType::u8};
    label.what = P2pLabel{
        .method = test.method, .direction = test.direction, .transfers = std::move(transfers)};
    ImportedCell& cell = cells_.at(label);
    cell.timing = {.warmups = 0, .iterations = k_copies_per_sample, .batches = 1};
    cell.record.check.why_unchecked =
        "nvbandwidth's JSON does not say whether the data was verified";
    return cell;
  }

  static void add_sample(ImportedCell& cell, int rank, int batch, double time_ns) {
    if (const auto sample = sample_of(rank, batch, k_copies_per_sample, time_ns)) {
      cell.record.samples.push_back(*sample);
      cell.timing.batches = std::max(cell.timing.batches, batch + 1);
    }
  }

  double time_ns(double gb_per_s) const { return static_cast<double>(bytes_) / gb_per_s; }

  void add_one(const TestCase& test, const P2pTransfer& transfer, double number) {
    ImportedCell& one = cell(test, {transfer});
    const int rank = model::timed_rank(test.method, transfer);
    if (model::measures_latency(test.method)) {
      model::ChaseOp chase; // what says that a time is that of one hop
      chase.rank = transfer.from.rank;
      chase.through_rank = transfer.to.rank;
      chase.bytes = bytes_;
      chase.hops = 1;
      one.chase = chase;
      add_sample(one, rank, 0, number);
    } else {
      add_sample(one, rank, 0, time_ns(number));
    }
  }

  // Rows above the diagonal are the first batch of a pair, those below it the second.
  void add_both(const TestCase& test, int row, int column, double there, double back) {
    const P2pTransfer first = transfer_of(test.shape, row, column);
    const P2pTransfer second{first.to, first.from};
    ImportedCell& one =
        cell(test, row < column ? std::vector{first, second} : std::vector{second, first});
    const int batch = row < column ? 0 : 1;
    add_sample(one, model::timed_rank(test.method, first), batch, time_ns(there));
    add_sample(one, model::timed_rank(test.method, second), batch, time_ns(back));
  }

  ImportedProcess& process_;
  CellList cells_;
  std::uint64_t bytes_;
};

// Order by batch, then rank, as in runs of ncclprobe.
void sort_samples(ImportedProcess& process) {
  for (ImportedCell& cell : process.cells)
    std::ranges::sort(cell.record.samples, [](const model::Sample& a, const model::Sample& b) {
      return std::pair(a.batch, a.rank) < std::pair(b.batch, b.rank);
    });
}

// From the list of GPUs; before v0.8 there is none, and only their number is known.
Result<void> add_gpus(ImportedProcess& process, const Json& devices, const Json& tests) {
  std::size_t count = devices.is_array() ? devices.size() : 0;
  for (const Json& test : tests)
    if (const Json& matrix = member(test, "bandwidth_matrix");
        count == 0 && matrix.is_array() && !matrix.empty() && matrix.front().is_array())
      count = matrix.front().size();
  if (count == 0 || count > k_most_gpus)
    return fail(Errc::invalid_argument, "it does not say how many GPUs there are");
  for (std::size_t i = 0; i < count; ++i)
    process.ranks.push_back(
        rank_of(devices.is_array() ? text_in(devices[i]) : std::string(), static_cast<int>(i)));
  return {};
}

} // namespace

Result<ImportedProcesses> read_nvbandwidth_json(std::string_view text, const ImportHints& hints) {
  text.remove_prefix(std::min(text.find('{'), text.size()));
  text =
      text.substr(0, text.rfind('}') == std::string_view::npos ? text.size() : text.rfind('}') + 1);
  NCCLPROBE_TRY_ASSIGN(const Document document, read_document(text));
  const Json& json = member(document.json, "nvbandwidth");
  const Json& tests = member(json, "testcases");
  if (!tests.is_array())
    return fail(Errc::invalid_argument, "it has no list of test cases{}{}",
                json.contains("error") ? ": " : "", text_in(member(json, "error")));
  ImportedProcess process;
  process.version = text_in(member(json, "version"));
  // Its "CUDA Runtime Version" is what the driver supports (nvbandwidth.cpp, cuDriverGetVersion).
  if (std::string driver = text_in(member(json, "Driver Version")); !driver.empty())
    process.libraries.push_back({.name = "cuda_driver", .version = std::move(driver)});
  NCCLPROBE_TRY(add_gpus(process, member(json, "GPU Device list"), tests));

  MatrixReader reader(process, hints);
  std::string left_out, without_result;
  for (const Json& test : tests) {
    const std::string name = text_in(member(test, "name"));
    const std::string status = text_in(member(test, "status"));
    const TestCase* known = test_case(name);
    if (status != "Passed")
      without_result += fmt::format("{}{} ({})", without_result.empty() ? "" : ", ", name, status);
    else if (!known || !reader.add(*known, member(test, "bandwidth_matrix")))
      left_out += (left_out.empty() ? "" : ", ") + name;
  }
  std::erase_if(process.cells, [](const ImportedCell& one) { return one.record.samples.empty(); });
  if (process.cells.empty())
    return fail(Errc::invalid_argument,
                "it has no copies between two GPUs or between a GPU and its host that passed");
  sort_samples(process);
  process.times = fmt::format(
      "A time is that of {} bytes (--buffer) at the bandwidth that nvbandwidth gives: the median, "
      "unless it ran with -m, over its samples of {} copies.",
      hints.buffer_bytes, k_copies_per_sample);
  if (!left_out.empty())
    process.remarks.push_back(
        fmt::format("Test cases that ncclprobe does not measure were left out: {}.", left_out));
  if (!without_result.empty())
    process.remarks.push_back(fmt::format("Test cases without a result: {}.", without_result));
  if (document.was_cut)
    process.remarks.push_back("The file ends early, so test cases may be missing.");
  ImportedProcesses all;
  all.push_back(std::move(process));
  return all;
}

} // namespace ncclprobe::analysis::imports
