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

// What a command's line may say, and all that is written about it.
struct Usage {
  const char* name;       // "run"
  const char* summary;    // one line, for the list of commands
  const char* about = ""; // paragraphs behind the options
  std::vector<Example> examples;
  std::vector<ExitMeaning> exits = {}; // beside those that all commands have
  Options options;
  // After parsing: what one option alone cannot tell. Errors: invalid_argument.
  std::function<base::Result<void>(const Options&)> check = {};
  std::shared_ptr<void> bound = {}; // what the options read into, where nobody else keeps it
};

// Of commands whose result is a text (result_options()).
struct ResultOptions {
  std::string format;
  base::Destination output; // without a file: standard output
  base::Verbosity verbosity = base::Verbosity::normal;
};

// Why a command line is not run any further.
struct Leave {
  enum class Why { help, version, mistake } why;
  std::string text; // the help, or what is wrong
};

// Reads the words, without program and command, into the usage's options. No option takes an empty
// value: it is what an unset variable of a script leaves.
std::optional<Leave> parse(Usage& usage, const std::vector<std::string>& words);

} // namespace ncclprobe::cli
