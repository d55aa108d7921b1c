// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/guarded_read.h"

#include "base/atomic_file.h"
#include "store/child_jobs.h"
#include "store/image.h"

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::Result;

Result<Tables> read_here(const FileToRead& file) {
  NCCLPROBE_TRY_ASSIGN(std::string image, base::read_file(file.path));
  try {
    return read_image(image, file.path.string(), file.kind);
  } catch (const base::Exception& error) {
    return base::fail(error.error());
  } catch (const std::exception& error) {
    return base::fail(Errc::protocol, "{} is damaged: {}", file.path.string(), error.what());
  }
}

} // namespace

ChildLimits limits_for(const std::filesystem::path& file, const ReadLimits& limits) {
  std::error_code trouble; // a missing file is found out by reading it
  auto size = std::filesystem::file_size(file, trouble);
  std::uint64_t bytes = trouble ? 0 : size;
  return {limits.cpu_s + limits.cpu_s_per_mib * static_cast<std::int64_t>(bytes >> 20),
          limits.wall_factor, limits.memory_bytes + limits.memory_per_byte * bytes};
}

std::vector<Result<Tables>> read_guarded(const std::vector<FileToRead>& files,
                                         const ReadLimits& limits) {
  std::vector<ChildJob> jobs;
  for (const FileToRead& file : files)
    jobs.push_back(
        {file.path, "read", limits_for(file.path, limits), [&file]() -> Result<std::string> {
           NCCLPROBE_TRY(read_here(file));
           return std::string();
         }});
  std::vector<Result<std::string>> verdicts = run_in_child(jobs);
  std::vector<Result<Tables>> results;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (verdicts[i])
      results.push_back(read_here(files[i]));
    else
      results.push_back(base::fail(std::move(verdicts[i].error())));
  }
  return results;
}

} // namespace ncclprobe::store
