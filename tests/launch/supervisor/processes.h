// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

// Finding the processes of one test, whatever else runs on the machine: by a variable in their
// environment that no other test has.
namespace ncclprobe::test_launch {

// "NCCLPROBE_TEST_TOKEN=<unique>".
std::string make_token();

// Processes whose environment holds the token and that are no zombies; not the caller.
std::vector<pid_t> processes_with(const std::string& token);

// The same with this program name (/proc/PID/comm).
std::vector<pid_t> processes_with(const std::string& token, const std::string& program);

// Waits up to `seconds` for `wanted` to hold of the number of processes found; the last ones found.
std::vector<pid_t> wait_for_count(const std::string& token, const std::string& program,
                                  std::size_t wanted, int seconds);

// "NAME=value" entries of a live process.
std::vector<std::string> environment_of(pid_t pid);

// This process's own.
std::vector<std::string> own_environment();

} // namespace ncclprobe::test_launch
