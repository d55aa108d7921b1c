// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/option.h"

namespace ncclprobe::cli {

std::string Option::key() const {
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

Option make_option(const char* name, const char* value, const char* help, OptionDetails details,
                   std::function<base::Result<void>(const std::string&)> read,
                   std::function<std::vector<std::string>()> write) {
  Option made{std::move(details)};
  made.name = name;
  made.value = value;
  made.help = help;
  made.read = std::move(read);
  made.write = std::move(write);
  return made;
}

Option flag(const char* name, bool& into, const char* help, OptionDetails details) {
  return make_option(
      name, "", help, std::move(details),
      [&into](const std::string& text) -> base::Result<void> {
        NCCLPROBE_TRY_ASSIGN(into, on_off_words().read(text));
        return {};
      },
      [&into] { return into ? std::vector<std::string>{"on"} : std::vector<std::string>(); });
}

void add_defaults(Options& options, const Options& filled) {
  for (std::size_t i = 0; i < options.size(); ++i)
    if (const auto texts = filled[i].write();
        options[i].initial.empty() && !options[i].repeats && !texts.empty())
      options[i].initial = texts.front();
}

Option excluding(Option option, const std::vector<std::string>& others) {
  option.excludes.insert(option.excludes.end(), others.begin(), others.end());
  return option;
}

Options in_group(const char* title, Options options) {
  for (Option& option : options)
    option.group = title;
  return options;
}

Options joined(std::vector<Options> parts) {
  Options all;
  for (Options& part : parts)
    all.insert(all.end(), std::make_move_iterator(part.begin()),
               std::make_move_iterator(part.end()));
  return all;
}

const Option* find_option(const Options& options, std::string_view name) {
  auto found = std::ranges::find(options, name, &Option::name);
  return found == options.end() ? nullptr : &*found;
}

} // namespace ncclprobe::cli
