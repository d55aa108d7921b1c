// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/bisect/version_files.h"

#include "base/split.h"
#include "base/text_layout.h"

#include <algorithm>
#include <cstring>
#include <glob.h>

namespace ncclprobe::cli {

Result<VersionFiles> version_files(const std::string& text) {
  const std::size_t end = text.find('=');
  if (end == std::string::npos || end == 0 || end + 1 == text.size())
    return fail({Errc::invalid_argument, fmt::format("'{}' is not NAME=FILES", text),
                 "for example 'nccl=/opt/nccl-*/libnccl.so.2'"});
  VersionFiles files{text.substr(0, end), {}};
  const std::string paths = text.substr(end + 1);
  if (paths.find_first_of("*?[") == std::string::npos) {
    for (const std::string_view path : base::split(paths, ','))
      files.paths.emplace_back(path);
  } else {
    glob_t found{};
    if (::glob(paths.c_str(), 0, nullptr, &found) == 0)
      files.paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    for (std::string& path : files.paths)
      if (path.find('/') == std::string::npos)
        path.insert(0, "./"); // a name alone would be looked for elsewhere
    std::ranges::sort(files.paths, [](const std::string& a, const std::string& b) {
      return strverscmp(a.c_str(), b.c_str()) < 0;
    });
  }
  if (files.paths.size() < 2)
    return fail(Errc::not_found, "'{}' matches {}, but a search needs two or more", paths,
                base::count_of(files.paths.size(), "file", "files"));
  return files;
}

} // namespace ncclprobe::cli
