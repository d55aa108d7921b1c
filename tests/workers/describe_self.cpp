// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Fails with its descriptors, blocked and ignored signals and process group as the reason.
#include "talk.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

NCCLPROBE_TEST_WORKER(describe_self) {
  using namespace ncclprobe;
  // Listed before anything of ours is opened; the listing itself uses one more.
  std::vector<std::string> descriptors;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    descriptors.push_back(entry.path().filename());
  std::sort(descriptors.begin(), descriptors.end());
  std::string text = "descriptors";
  for (const std::string& descriptor : descriptors)
    text += " " + descriptor;
  std::ifstream status("/proc/self/status");
  // Without signals 32 and 33, which are the C library's own.
  auto signals = [](const std::string& line) {
    return std::to_string(std::stoull(line.substr(8), nullptr, 16) & 0x7FFF'FFFF);
  };
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:"))
      text += "; blocked " + signals(line);
    if (line.starts_with("SigIgn:"))
      text += "; ignored " + signals(line);
  }
  text += getpgrp() == getpid() ? "; own group" : "; foreign group";
  test_worker::Talk talk;
  talk.send(wire::Failure{{model::OutcomeKind::failed, text, {}}, -1});
  ::_exit(1);
}
