// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/guarded_read.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "store/superblock.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace ncclprobe::store {
namespace {

// Ten billion samples: none of ours is larger. HDF5's header states the size of each.
constexpr std::uint64_t k_most_file_bytes = std::uint64_t{256} << 30;

// Cheap checks before the whole file is read.
Result<void> check_size(const std::filesystem::path& path) {
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat about {};
  if (!fd || ::fstat(fd.get(), &about) != 0)
    return base::system_error("open", path, errno);
  if (!S_ISREG(about.st_mode))
    return fail(Errc::protocol, "{} is not a regular file, and so not an HDF5 file", path.string());
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (size > k_most_file_bytes)
    return fail(Errc::protocol, "{} has more than {} GiB, which is the most that is read",
                path.string(), k_most_file_bytes >> 30);
  std::array<char, k_superblock_bytes> begin{};
  if (::pread(fd.get(), begin.data(), begin.size(), 0) < static_cast<ssize_t>(begin.size()))
    return {}; // HDF5 gives a better message
  if (auto stated = stated_file_bytes({begin.data(), begin.size()}); stated && *stated != size)
    return fail(Errc::protocol, "{} is damaged: it has {} bytes and should have {}", path.string(),
                size, *stated);
  return {};
}

// Runs read(file, progress) in the child for each file.
std::vector<Result<void>>
read_in_child(const std::vector<FileToRead>& files, const ReadLimits& limits,
              Result<void> (*read)(const FileToRead& file, const Progress& progress)) {
  std::vector<ChildJob> jobs;
  for (const FileToRead& file : files)
    jobs.push_back({file.path,
                    "read",
                    limits_for(file.path, limits),
                    [&file, read](const Progress& progress) -> Result<std::string> {
                      NCCLPROBE_TRY(read(file, progress));
                      return std::string();
                    },
                    {}});
  std::vector<Result<void>> results;
  for (Result<std::string>& one : run_in_child(jobs))
    results.push_back(one ? Result<void>() : fail(std::move(one.error())));
  return results;
}

Result<void> check(const FileToRead& file, const Progress& progress) {
  NCCLPROBE_TRY_ASSIGN(const Tables tables, outline_of(file, progress));
  try {
    check_values(tables, file.kind, progress);
    return {};
  } catch (const std::exception& error) {
    return fail(Errc::protocol, "{} is damaged: {}", file.path.string(), error.what());
  }
}

} // namespace

ChildLimits limits_for(const std::filesystem::path& file, const ReadLimits& limits) {
  std::error_code trouble; // reading it reports a missing file
  auto size = std::filesystem::file_size(file, trouble);
  const std::uint64_t bytes = trouble ? 0 : size;
  const auto cpu = limits.cpu + limits.cpu_per_mib * static_cast<std::int64_t>(bytes >> 20);
  return {cpu, limits.stall, cpu + limits.wait,
          limits.memory_bytes + limits.memory_per_byte * bytes};
}

std::vector<Result<void>> check_guarded(const std::vector<FileToRead>& files,
                                        const ReadLimits& limits) {
  return read_in_child(files, limits, check);
}

Result<Tables> outline_of(const FileToRead& file, const Progress& progress) {
  NCCLPROBE_TRY(check_size(file.path));
  try {
    return read_outline(file.path, file.kind, progress);
  } catch (const Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::protocol, "{} is damaged: {}", file.path.string(), error.what());
  }
}

std::vector<Result<Tables>> read_outlines_guarded(const std::vector<FileToRead>& files,
                                                  const ReadLimits& limits) {
  const auto verdicts = read_in_child(
      files, limits, [](const FileToRead& file, const Progress& progress) -> Result<void> {
        NCCLPROBE_TRY(outline_of(file, progress));
        return {};
      });
  std::vector<Result<Tables>> results;
  for (std::size_t i = 0; i < files.size(); ++i)
    results.push_back(verdicts[i] ? outline_of(files[i]) : fail(verdicts[i].error()));
  return results;
}

} // namespace ncclprobe::store
