// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/rows.h"
#include "trace/spool_reader.h"
#include "trace/spool_writer.h"

#include "support/catch.h"
#include "support/scratch_folder.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <map>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::trace;

namespace {

struct Content {
  std::vector<std::string> texts{""};
  std::map<int, std::vector<KernelRow>> kernels;
  std::map<int, std::vector<SpanRow>> spans;
  SpoolSummary summary;
};

base::Result<Content> read_all(const std::filesystem::path& path) {
  Content content;
  auto summary = read_spool(path, [&](const SpoolBlock& block) {
    if (block.table == Table::strings)
      content.texts.push_back(block.text());
    auto add = [&](auto& to, const auto& rows) {
      to[block.rank].insert(to[block.rank].end(), rows.begin(), rows.end());
    };
    if (block.table == Table::kernel)
      add(content.kernels, block.as<KernelRow>());
    if (block.table == Table::span)
      add(content.spans, block.as<SpanRow>());
  });
  if (!summary)
    return base::fail(summary.error());
  content.summary = *summary;
  return content;
}

KernelRow kernel(std::uint64_t start_ns, TextId name = {}) {
  KernelRow row;
  row.start_ns = start_ns;
  row.name = name;
  return row;
}

void write_example(const std::filesystem::path& path) {
  SpoolWriter writer;
  REQUIRE(writer.open(path.string()));
  TextId name = writer.intern("ncclDevKernel_AllReduce");
  writer.append<KernelRow>(3, std::vector{kernel(10, name), kernel(20, name)});
  writer.append(4, kernel(30, writer.intern("gemm")));
  CHECK(writer.intern("gemm").id == 2);
  CHECK(writer.intern("").id == 0);
  CHECK(writer.rows_lost() == 0);
  CHECK(writer.bytes_written() == std::filesystem::file_size(path));
}

} // namespace

TEST_CASE("what is appended to a spool is read again, by rank, with its texts") {
  support::ScratchFolder folder;
  auto path = folder / "a.spool";
  write_example(path);
  auto content = read_all(path);
  REQUIRE(content);
  CHECK(content->texts == std::vector<std::string>{"", "ncclDevKernel_AllReduce", "gemm"});
  REQUIRE(content->kernels[3].size() == 2);
  CHECK(content->kernels[3][1].start_ns == 20);
  CHECK(content->kernels[3][1].name.id == 1);
  REQUIRE(content->kernels[4].size() == 1);
  CHECK(content->kernels[4][0].name.id == 2);
  CHECK(content->summary.header.process == static_cast<std::uint32_t>(getpid()));
  CHECK(content->summary.bytes_left_out == 0);
}

TEST_CASE("a spool that was cut anywhere keeps every block before the cut") {
  support::ScratchFolder folder;
  auto path = folder / "a.spool";
  write_example(path);
  auto size = std::filesystem::file_size(path);
  for (auto cut = size - 1; cut >= sizeof(SpoolHeader); --cut) {
    std::filesystem::resize_file(path, cut);
    auto content = read_all(path);
    REQUIRE(content);
    CHECK(content->kernels[4].empty());
    bool has_first = !content->kernels[3].empty();
    CHECK(content->kernels[3].size() == (has_first ? 2 : 0));
  }
  std::filesystem::resize_file(path, sizeof(SpoolHeader) - 1);
  CHECK(read_all(path).error().code == base::Errc::protocol);
}

TEST_CASE("what is no spool, or a damaged one, is refused with its place") {
  support::ScratchFolder folder;
  auto path = folder / "a.spool";
  CHECK(read_all(path).error().code == base::Errc::not_found);
  write_example(path);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(sizeof(SpoolHeader));
    file.put('x');
  }
  auto damaged = read_all(path);
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().code == base::Errc::protocol);
  CHECK(damaged.error().text().find(std::to_string(sizeof(SpoolHeader))) != std::string::npos);
  std::ofstream(path) << std::string(400, 'y');
  CHECK(read_all(path).error().code == base::Errc::protocol);
}

TEST_CASE("a spool never takes the place of a file") {
  support::ScratchFolder folder;
  auto path = folder / "a.spool";
  std::ofstream(path) << "mine";
  SpoolWriter writer;
  CHECK_FALSE(writer.open(path.string()));
  CHECK(errno == EEXIST);
  writer.append(0, kernel(1)); // counted, not fatal
  CHECK(writer.rows_lost() == 1);
}

TEST_CASE("rows of many threads come whole, and texts keep their numbers") {
  support::ScratchFolder folder;
  auto path = folder / "a.spool";
  constexpr int k_threads = 4;
  constexpr int k_rows = 500;
  {
    SpoolWriter writer;
    REQUIRE(writer.open(path.string()));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < k_threads; ++rank)
      threads.emplace_back([&writer, rank] {
        for (int i = 0; i < k_rows; ++i)
          writer.append(rank, kernel(static_cast<std::uint64_t>(i),
                                     writer.intern("kernel " + std::to_string(i))));
      });
    for (std::thread& thread : threads)
      thread.join();
  }
  auto content = read_all(path);
  REQUIRE(content);
  CHECK(content->texts.size() == k_rows + 1);
  for (int rank = 0; rank < k_threads; ++rank) {
    REQUIRE(content->kernels[rank].size() == k_rows);
    for (const KernelRow& row : content->kernels[rank])
      REQUIRE(content->texts.at(row.name.id) == "kernel " + std::to_string(row.start_ns));
  }
}

TEST_CASE("what a full disk does not take is counted, and what stands before it is kept") {
  support::ScratchFolder folder;
  auto path = folder / "a.spool";
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  std::uint64_t lost = 0;
  {
    SpoolWriter writer;
    REQUIRE(writer.open(path.string()));
    rlimit limit = before;
    limit.rlim_cur = 100 * sizeof(KernelRow);
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 20; ++i)
      writer.append<KernelRow>(0, std::vector(10, kernel(static_cast<std::uint64_t>(i))));
    setrlimit(RLIMIT_FSIZE, &before);
    lost = writer.rows_lost();
    CHECK(writer.error() == EFBIG);
  }
  std::signal(SIGXFSZ, ignored);
  auto content = read_all(path);
  REQUIRE(content);
  CHECK(lost > 0);
  CHECK(content->kernels[0].size() + lost == 200);
}
