// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/nccl_files.h"

#include "base/stored_variables.h"
#include "base/text_files.h"

#include <pwd.h>
#include <unistd.h>

namespace ncclprobe::system {

using namespace base;

std::vector<model::NcclFile> nccl_files(const std::map<std::string, std::string>& environment,
                                        const std::string& home,
                                        const std::filesystem::path& root) {
  std::vector<std::string> paths;
  const auto named = environment.find("NCCL_CONF_FILE");
  if (named != environment.end() && !named->second.empty())
    paths.push_back(named->second);
  else if (!home.empty())
    paths.push_back(home + "/.nccl.conf");
  paths.emplace_back("/etc/nccl.conf");

  std::vector<model::NcclFile> files;
  for (const std::string& path : paths) {
    std::filesystem::path place = root / std::filesystem::path(path).relative_path();
    std::error_code error;
    if (!std::filesystem::is_regular_file(place, error))
      continue;
    model::NcclFile file{path, {}};
    for (const std::string& line : lines_of(place)) {
      std::size_t equals = line.find('=');
      if (line.empty() || line.front() == '#' || equals == std::string::npos)
        continue;
      const std::string name = line.substr(0, equals);
      file.settings.push_back({name, base::stored_value(name, line.substr(equals + 1))});
    }
    files.push_back(std::move(file));
  }
  return files;
}

std::string home_folder() {
  const passwd* user = ::getpwuid(::getuid());
  return user == nullptr || user->pw_dir == nullptr ? "" : user->pw_dir;
}

} // namespace ncclprobe::system
