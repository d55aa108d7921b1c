// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/option_words.h"

#include <optional>
#include <utility>

namespace ncclprobe::cli {

// Details that few options need.
struct OptionDetails {
  std::string also = {};    // another name: "-s", or "--root"
  std::string initial = {}; // the default, if the bound value does not hold it: "the model's"
  std::string example = {}; // empty: an example of the value's type
  std::vector<std::string> needs = {};    // names of options, "buckets"
  std::vector<std::string> excludes = {}; // a given option overrides these of a plan file
  std::string part = {};                  // only for training steps that have this part: "ddp"
  bool positional = false;
  bool required = false;
  bool repeats = false; // may be given several times
  // Takes all words after "--" as they are, even empty ones; with `positional` and `repeats`.
  bool after_dashes = false;
};

// One option of a command, described only here: the command line, both directions of plan files,
// help, man pages, shell completion and docs/options.md are made from it. It is bound to one object
// and stores its value there.
struct Option : OptionDetails {
  std::string name = {};  // "bucket-view"
  std::string value = {}; // name of its argument in the help, "SIZE,..."; empty: a flag
  std::string help = {};
  // Errors: invalid_argument.
  std::function<base::Result<void>(const std::string&)> read = {};
  // One text for each time that the option would be given; empty: not given. read() can read them
  // back.
  std::function<std::vector<std::string>()> write = {};
  std::vector<std::string> choices = {};
  std::string group = {};
  bool said = false; // on the command line

  bool is_flag() const { return value.empty(); }
  bool is_list() const { return value.ends_with(",..."); }
  std::string label() const { return positional ? name : "--" + name; }
  std::string key() const; // of plan files: "bucket_view"
};
using Options = std::vector<Option>;

Option make_option(const char* name, const char* value, const char* help, OptionDetails details,
                   std::function<base::Result<void>(const std::string&)> read,
                   std::function<std::vector<std::string>()> write);

// An option with one value. `into` must outlive it. An optional is unset until the option is given;
// for any other type its current value is the default.
template <typename Bound, typename T>
Option option(const char* name, const char* value, Bound& into, Words<T> words, const char* help,
              OptionDetails details = {}) {
  constexpr bool may_be_unset = std::is_same_v<Bound, std::optional<T>>;
  auto write = [&into, words]() -> std::vector<std::string> {
    std::string text;
    if constexpr (!may_be_unset)
      text = words.write(into);
    else if (into)
      text = words.write(*into);
    return text.empty() ? std::vector<std::string>() : std::vector{text};
  };
  if (details.initial.empty() && !may_be_unset)
    details.initial = fmt::format("{}", fmt::join(write(), ""));
  if (details.example.empty())
    details.example = words.example;
  Option made = make_option(
      name, value, help, std::move(details),
      [&into, words](const std::string& text) -> base::Result<void> {
        NCCLPROBE_TRY_ASSIGN(into, words.read(text));
        return {};
      },
      write);
  made.choices = words.choices;
  return made;
}

// An option that may be repeated; each time appends a value.
template <typename T>
Option repeated(const char* name, const char* value, std::vector<T>& into, Words<T> words,
                const char* help, OptionDetails details = {}) {
  details.repeats = true;
  if (details.example.empty())
    details.example = words.example;
  return make_option(
      name, value, help, std::move(details),
      [&into, words](const std::string& text) -> base::Result<void> {
        NCCLPROBE_TRY_ASSIGN(T one, words.read(text));
        into.push_back(std::move(one));
        return {};
      },
      [&into, words] {
        std::vector<std::string> texts;
        for (const T& one : into)
          texts.push_back(words.write(one));
        return texts;
      });
}

// An option without a value; it sets `into` to true.
Option flag(const char* name, bool& into, const char* help, OptionDetails details = {});

// Gives options without a default the values that the same options of a filled object write.
void add_defaults(Options& options, const Options& filled);
Option excluding(Option option, const std::vector<std::string>& others);
Options in_group(const char* title, Options options);
Options joined(std::vector<Options> parts);
// Null if there is none of this name.
const Option* find_option(const Options& options, std::string_view name);

} // namespace ncclprobe::cli
