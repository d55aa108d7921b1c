// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/host_clock.h"
#include "plugin/nvtx/injection.h"
#include "plugin/nvtx/played_nvtx.h"
#include "plugin/nvtx/ranges.h"
#include "plugin/profiler/abi.h"
#include "plugin/profiler/tracing.h"
#include "trace/rows.h"

#include "support/catch.h"
#include "support/spool_rows.h"

#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ncclprobe;
using namespace ncclprobe::plugin;
using nvtx::PlayedNvtx;

namespace {

// Traces from here to rows(), on rank 3.
class TracedRanges {
public:
  TracedRanges() {
    std::filesystem::remove(path_);
    REQUIRE(spool_.open(path_));
    start_tracing(spool_, Detail::operations);
    open_communicator();
  }
  ~TracedRanges() {
    stop_tracing();
    std::filesystem::remove(path_);
  }
  std::vector<trace::RangeRow> rows() {
    stop_tracing();
    std::vector<trace::RangeRow> all;
    for (const auto& [rank, row] : support::ranked_rows<trace::RangeRow>(path_)) {
      CHECK(rank == 3);
      all.push_back(row);
    }
    return all;
  }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const trace::RangeRow& row : rows())
      all.push_back(text(row.name));
    return all;
  }
  std::string text(trace::TextId id) const { return support::text_in(path_, id); }
  std::uint64_t ranges_lost() {
    stop_tracing();
    std::uint64_t all = 0;
    for (const trace::LossRow& row : support::rows_in<trace::LossRow>(path_))
      all += row.kind == trace::LossKind::ranges ? row.count : 0;
    return all;
  }

private:
  static void open_communicator() {
    void* context = nullptr;
    int mask = 0;
    REQUIRE(ncclProfiler_v5.init(&context, 0xC0FFEE, &mask, "world", 1, 4, 3, nullptr) == 0);
  }
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("ranges-" + std::to_string(getpid()) + ".spool");
  trace::SpoolWriter spool_;
};

PlayedNvtx attached() {
  PlayedNvtx nvtx;
  REQUIRE(attach_to_nvtx(PlayedNvtx::get_export_table));
  return nvtx;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("ranges of a thread have their times, levels and names") {
  const PlayedNvtx nvtx = attached();
  TracedRanges traced;
  const std::uint64_t before_ns = host_now();

  CHECK(nvtx.push("forward") == -2); // as in a program without a tool
  CHECK(nvtx.push("attention") == -2);
  nvtx.call<int>(nvtx.core[nvtx::k_range_push_w], L"sch\u00f6n");
  nvtx.pop();
  nvtx.pop();
  CHECK(nvtx.pop() == -2);
  const std::uint64_t after_ns = host_now();

  const auto rows = traced.rows(); // in the order of their ends
  REQUIRE(rows.size() == 3);
  CHECK(traced.text(rows[0].name) == "sch\u00f6n");
  CHECK(traced.text(rows[1].name) == "attention");
  CHECK(traced.text(rows[2].name) == "forward");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].level == 2 - i);
    CHECK(rows[i].thread == static_cast<std::uint32_t>(gettid()));
    CHECK(rows[i].kind == trace::RangeKind::nested);
    CHECK(rows[i].domain == trace::TextId{});
    CHECK(rows[i].start_ns <= rows[i].end_ns);
  }
  CHECK(rows[2].start_ns >= before_ns);
  CHECK(rows[2].end_ns <= after_ns);
  CHECK(rows[2].start_ns <= rows[1].start_ns);
}

TEST_CASE("domains end their own ranges, and NCCL's is left out") {
  const PlayedNvtx nvtx = attached();
  TracedRanges traced;
  const nvtx::Domain library = nvtx.domain("library");
  const nvtx::Domain nccl = nvtx.domain("NCCL");
  auto stored = PlayedNvtx::named(nullptr);
  stored.message_type = nvtx::k_registered;
  stored.message.registered = nvtx.registered(library, "solve");

  nvtx.push("forward");
  nvtx.push(library, stored);
  nvtx.push(nccl, PlayedNvtx::named("ncclAllReduce"));
  nvtx.pop(nccl);
  nvtx.pop(); // "forward", although "solve" is inside
  nvtx.pop(library);
  nvtx.pop(library); // of nothing

  const auto rows = traced.rows();
  REQUIRE(rows.size() == 2);
  CHECK(traced.text(rows[0].name) == "forward");
  CHECK(rows[0].level == 0);
  CHECK(traced.text(rows[1].name) == "solve");
  CHECK(traced.text(rows[1].domain) == "library");
}

TEST_CASE("a free range ends on any thread") {
  const PlayedNvtx nvtx = attached();
  TracedRanges traced;

  const nvtx::RangeId range = nvtx.start("load");
  CHECK(range != 0);
  std::uint32_t thread = 0;
  std::thread([&] {
    thread = static_cast<std::uint32_t>(gettid());
    nvtx.end(range);
    nvtx.end(range); // again
    nvtx.end(0xFFFF'FFFF'FFFF);
  }).join();

  const auto rows = traced.rows();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].kind == trace::RangeKind::free);
  CHECK(rows[0].thread == thread);
}

TEST_CASE("only ranges that begin and end while tracing is on are recorded") {
  const PlayedNvtx nvtx = attached();
  nvtx.push("before");
  CHECK(nvtx.start("before too") == 0);
  {
    TracedRanges traced;
    nvtx.push("during");
    nvtx.pop();
    nvtx.pop(); // "before"
    CHECK(traced.names() == Names{"during"});
    nvtx.push("after");
  }
  TracedRanges again;
  nvtx.pop(); // "after"
  CHECK(again.names().empty());
}

TEST_CASE("deep ranges are not recorded, and their ends end no others") {
  const PlayedNvtx nvtx = attached();
  TracedRanges traced;

  for (std::size_t level = 0; level < k_range_stack + 10; ++level)
    nvtx.push(level == 0 ? "outer" : "inner");
  for (std::size_t level = 0; level < k_range_stack + 9; ++level)
    nvtx.pop();
  nvtx.push("second");
  nvtx.pop();
  nvtx.pop();

  const Names names = traced.names();
  REQUIRE(names.size() == k_range_levels + 1);
  CHECK(names[k_range_levels - 1] == "second");
  CHECK(names.back() == "outer");
}

TEST_CASE("names without end do not take memory without end") {
  RangeNames names;
  auto number_of = [&](const std::string& text) {
    RangeName name;
    name.set(text.c_str());
    return names.number_of(name);
  };
  const std::uint16_t first = number_of("iteration 1");
  for (std::size_t i = 2; i <= RangeNames::k_exact; ++i)
    number_of("iteration " + std::to_string(i));

  CHECK(number_of("iteration 1") == first);
  CHECK(names.text(number_of("iteration 5000")) == "iteration #");
  CHECK(number_of("iteration 5000") == number_of("iteration 6000"));
  auto word = [](std::size_t i) {
    return "word " + std::string(1 + i % 20, char('a' + i / 20 % 26));
  };
  for (std::size_t i = 0; i < RangeNames::k_names; ++i)
    number_of(word(i) + (i < 520 ? "" : "!"));
  CHECK(names.text(number_of("one more")) == "(other names)");
  CHECK(number_of("iteration 1") == first);
  CHECK(number_of("") == RangeNames::k_none);
  CHECK(names.text(number_of(std::string(100, 'x'))).size() <= 63);
}

TEST_CASE("ranges that find no place are counted") {
  const PlayedNvtx nvtx = attached();
  TracedRanges traced;

  std::vector<nvtx::RangeId> open;
  for (int i = 0; i < 1030; ++i)
    open.push_back(nvtx.start("never ends"));

  CHECK(open.back() == 0);
  CHECK(traced.ranges_lost() == 6);
  for (const nvtx::RangeId range : open)
    nvtx.end(range);
}

TEST_CASE("a copy of NVTX without domains is used, and one without tables is not") {
  PlayedNvtx nvtx;
  PlayedNvtx::core.fill(nullptr);
  PlayedNvtx::has_domains = false;
  CHECK(attach_to_nvtx(PlayedNvtx::get_export_table));
  PlayedNvtx::has_domains = true;
  CHECK(PlayedNvtx::core[nvtx::k_range_push_a] != nullptr);
  CHECK_FALSE(attach_to_nvtx(nullptr));
  CHECK_FALSE(attach_to_nvtx([](std::uint32_t) -> const void* { return nullptr; }));
}
