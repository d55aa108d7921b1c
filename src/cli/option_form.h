// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/common_options.h"
#include "cli/option_words.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

namespace ncclprobe::cli {

// One option, for the command line (--bucket-view) and for plan files (bucket_view, read and
// written) alike.
template <typename Options>
struct OptionForm {
  const char* name;  // "bucket-view"
  const char* value; // what the help shows of its argument; "": a flag, "on" if it is said
  const char* help;  // nullptr: has a place of its own on the command line
  // Errors: invalid_argument.
  std::function<base::Result<void>(Options&, const std::string&)> read;
  std::function<std::string(const Options&)> write; // read() reads it; empty: not said
  const char* also = "";                            // another name of it, "-s" or "--root"

  std::string key() const { // of plan files
    std::string key = name;
    std::replace(key.begin(), key.end(), '-', '_');
    return key;
  }
  bool is_key(std::string_view text) const {
    return key() == text || (std::string_view(also).starts_with("--") && text == also + 2);
  }
};

template <typename Options, typename T>
OptionForm<Options> form(const char* name, const char* value, std::optional<T> Options::*member,
                         Words<T> words, const char* help, const char* also = "") {
  return {name,
          value,
          help,
          [=](Options& into, const std::string& text) -> base::Result<void> {
            NCCLPROBE_TRY_ASSIGN(into.*member, words.read(text));
            return {};
          },
          [=](const Options& options) {
            return options.*member ? words.write(*(options.*member)) : std::string();
          },
          also};
}

// A flag that turns it on.
template <typename Options>
OptionForm<Options> flag(const char* name, bool Options::*member, const char* help) {
  return {name, "", help,
          [=](Options& into, const std::string& text) -> base::Result<void> {
            NCCLPROBE_TRY_ASSIGN(into.*member, on_off_words().read(text));
            return {};
          },
          [=](const Options& options) -> std::string { return options.*member ? "on" : ""; }};
}

// Declares them, as a group of the help; `without` those of these names.
template <typename Options, typename Form>
void declare_forms(CLI::App& app, Options& options, const std::vector<Form>& forms,
                   const char* group, const std::set<std::string_view>& without = {}) {
  for (const OptionForm<Options>& one : forms)
    if (one.help != nullptr && !without.contains(one.name))
      add_form(app, std::string("--") + one.name + (*one.also ? "," : "") + one.also, one.value,
               one.help, group,
               [&one, &options](const std::string& text) { return one.read(options, text); });
}

} // namespace ncclprobe::cli
