// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "base/output_file.h"
#include "launch/cli/common/option.h"

#include <memory>

namespace ncclprobe::cli {

struct Example {
  const char* command; // "ncclprobe run --sizes 1M"
  const char* what = "";
};

struct ExitMeaning {
  int code;
  const char* meaning;
};

// The options of a command, and all texts about it.
struct Usage {
  const char* name;       // "run"
  const char* summary;    // one line, for the list of commands
  const char* about = ""; // paragraphs after the options
  std::vector<Example> examples;
  std::vector<ExitMeaning> exits = {}; // in addition to those of all commands
  Options options;
  // Checks that need several options; runs after parsing. Errors: invalid_argument.
  std::function<base::Result<void>(const Options&)> check = {};
  std::shared_ptr<void> bound = {}; // owner of what the options store into, if nobody else is
};

// For commands whose result is a text (result_options()).
struct ResultOptions {
  std::string format;
  base::Destination output; // without a file: standard output
  base::Verbosity verbosity = base::Verbosity::normal;
};

// Why a command line is not run.
struct Leave {
  enum class Why { help, version, mistake } why;
  std::string text; // the help, or what is wrong
};

// Parses the words, without program and command, into the usage's options. Empty values are
// refused, because they come from unset variables of scripts.
std::optional<Leave> parse(Usage& usage, const std::vector<std::string>& words);

} // namespace ncclprobe::cli
