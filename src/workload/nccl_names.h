// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::workload {

enum class NameKind {
  known,    // this NCCL reads it
  not_read, // another release does
  mistaken, // people use it, but nothing reads it, or a program other than NCCL
  misspelt, // one or two letters away from a name that NCCL reads
  similar,  // contains a name that NCCL reads
  foreign,  // of a plugin or another program
  harmless, // of builds and container images, or no name of NCCL's kind at all
  unknown,
};

struct NameJudgement {
  NameKind kind = NameKind::known;
  std::string why;         // "it came with 2.27.3"
  std::string better = {}; // the name that was probably meant; empty: none
  bool inverse = false;    // `better` has the opposite meaning: ENABLE for DISABLE
};

// For names that begin with NCCL, and ncclprobe's own (NCCLPROBE_...).
inline constexpr std::string_view k_own_prefix = "NCCLPROBE_";
// Whether ncclprobe's own backends read it in a trial, as a plain value.
bool is_own_variable(std::string_view name);

// `version`: of the NCCL that would read it; 0: the newest known one.
NameJudgement judge_name(std::string_view name, int version = 0);

} // namespace ncclprobe::workload
