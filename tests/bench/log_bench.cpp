// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// How fast and in how much memory a log is read: log_bench [MB] [quiet|noisy|worst]
//   quiet  training output and NCCL's INFO lines, a few errors at the end
//   noisy  every hundredth line speaks of an error
//   worst  every line is an error
#include "analysis/diagnosis/log_diagnosis.h"
#include "analysis/diagnosis/log_scanner.h"
#include "base/clock.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <sys/resource.h>

namespace {

using namespace ncclprobe;

std::string ordinary_line(int i) {
  if (i % 3 == 0)
    return fmt::format(
        "node-{}:{}:{} [{}] NCCL INFO Channel {:02}/0 : {}[{}] -> {}[{}] via P2P/CUMEM\n", i % 64,
        4000 + i % 8, 4100 + i % 8, i % 8, i % 24, i % 512, i % 8, (i + 1) % 512, (i + 1) % 8);
  return fmt::format(
      "[rank{}]: 2026-11-21 12:{:02}:{:02},{:03} | step {} | loss {:.4f} | lr 3.0e-04 | "
      "tokens/s {} | grad norm {:.3f}\n",
      i % 512, i / 6000 % 60, i / 100 % 60, i % 1000, i, 2 + 1.0 / (1 + i % 97), 180000 + i % 999,
      0.3 + i % 13 * 0.01);
}

std::string error_line(int i) {
  return fmt::format(
      "node-{}:{}:{} [{}] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by "
      "remote peer node-{}<{}>\n",
      i % 64, 4000 + i % 8, 4100, i % 8, (i + 1) % 64, 40000 + i % 1000);
}

} // namespace

int main(int argc, char** argv) {
  std::uint64_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000) * 1'000'000;
  std::string kind = argc > 2 ? argv[2] : "quiet";
  std::string block; // fed again and again
  for (int i = 0; block.size() < (8 << 20); ++i)
    block +=
        kind == "worst" || (kind == "noisy" && i % 100 == 0) ? error_line(i) : ordinary_line(i);

  std::int64_t start = base::monotonic_ns();
  analysis::LogPatterns patterns;
  std::int64_t compiled = base::monotonic_ns();
  analysis::LogScanner scanner(patterns);
  for (std::uint64_t fed = 0; fed < bytes;)
    for (std::size_t at = 0; at < block.size() && fed < bytes; at += 1 << 20) {
      std::string_view piece = std::string_view(block).substr(at, 1 << 20);
      scanner.feed(piece);
      fed += piece.size();
    }
  scanner.feed("[rank7]: torch.OutOfMemoryError: CUDA out of memory\n");
  analysis::LogFindings findings = scanner.finish();
  analysis::LogDiagnosis diagnosis = analysis::diagnose(findings);
  std::int64_t end = base::monotonic_ns();

  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  double seconds = static_cast<double>(end - compiled) / 1e9;
  fmt::print("{}: {:.0f} MB, {} lines in {:.2f} s ({:.0f} MB/s), {:.2f} s of CPU, expressions "
             "compiled in {:.0f} ms, "
             "{} MB of memory at most (8 MB of it the log), {} causes\n",
             kind, static_cast<double>(findings.bytes) / 1e6, findings.lines, seconds,
             static_cast<double>(findings.bytes) / 1e6 / seconds,
             static_cast<double>(usage.ru_utime.tv_sec) +
                 static_cast<double>(usage.ru_utime.tv_usec) / 1e6,
             static_cast<double>(compiled - start) / 1e6, usage.ru_maxrss / 1024,
             diagnosis.causes.size());
  return diagnosis.causes.empty() ? 1 : 0;
}
