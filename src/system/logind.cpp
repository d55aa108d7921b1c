// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/logind.h"

#include "base/text_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <pwd.h>
#include <unistd.h>

namespace ncclprobe::system {
namespace {

namespace fs = std::filesystem;

// The largest id of system users in common distributions.
constexpr uid_t k_first_user = 1000;

std::optional<bool> truth_of(std::string word) {
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word == "yes" || word == "true" || word == "on" || word == "1")
    return true;
  if (word == "no" || word == "false" || word == "off" || word == "0")
    return false;
  return std::nullopt;
}

// The last line that sets it. `prefix` "#" reads the built-in default, which the file shows as a
// comment.
std::optional<bool> value_in(const fs::path& file, const std::string& prefix) {
  std::optional<bool> value;
  const std::string key = prefix + "RemoveIPC=";
  for (const std::string& line : base::lines_of(file))
    if (line.starts_with(key))
      if (auto one = truth_of(line.substr(key.size())))
        value = one;
  return value;
}

bool lingers(const fs::path& root, const User& user) {
  std::error_code error;
  return !user.name.empty() && fs::exists(root / "var/lib/systemd/linger" / user.name, error);
}

} // namespace

User this_user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return {::geteuid(), entry == nullptr ? "" : entry->pw_name};
}

std::optional<bool> removes_shared_memory_at_logout(const fs::path& root, const User& user) {
  std::error_code error;
  if (!fs::exists(root / "run/systemd/system", error))
    return std::nullopt;
  // Of two files with one name, the later folder's wins; then sorted by name.
  constexpr std::array k_folders{"usr/lib/systemd", "run/systemd", "etc/systemd"};
  std::optional<bool> built_in;
  std::optional<bool> value;
  std::map<std::string, fs::path> drop_ins;
  for (const char* folder : k_folders) {
    const fs::path file = root / folder / "logind.conf";
    if (auto one = value_in(file, "#"))
      built_in = one;
    if (fs::exists(file, error))
      value = value_in(file, "");
    for (const std::string& name : base::names_in(root / folder / "logind.conf.d"))
      if (name.ends_with(".conf"))
        drop_ins[name] = root / folder / "logind.conf.d" / name;
  }
  for (const auto& [name, file] : drop_ins)
    if (auto one = value_in(file, ""))
      value = one;
  if (!value)
    value = built_in;
  bool spared = user.id < k_first_user || lingers(root, user);
  return value && spared ? std::optional(false) : value;
}

} // namespace ncclprobe::system
