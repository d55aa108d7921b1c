// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/atomic_file.h"
#include "launch/supervisor/supervisor_message.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Copies files from a supervisor's local disk to the same path on the leader's host, piece by
// piece. If both see the same disk, nothing is copied.
namespace ncclprobe::launch {

// The leader's side.
class FileFetch {
public:
  using Tell = std::function<void(int supervisor, MessageBody)>;
  explicit FileFetch(Tell tell) : tell_(std::move(tell)) {}

  // `files` lie at these paths where supervisor `from` runs.
  void begin(int from, const std::vector<std::string>& files);
  // A file that cannot be fetched or written is logged and stays where it is.
  void take(int from, const FilePiece& piece);
  bool waits() const { return !awaited_.empty(); }
  // Files that were not fetched, by supervisor. They stay where they are, and no partial copy is
  // left here.
  std::set<std::pair<int, std::string>> give_up();
  bool waits_for(int supervisor) const;

private:
  struct Arriving {
    std::optional<base::AtomicFile> file; // after the first piece
    std::uint64_t bytes = 0;
  };
  static Result<void> add(Arriving& to, const FilePiece& piece);

  Tell tell_;
  std::map<std::pair<int, std::string>, Arriving> awaited_;
};

// The other supervisors' side.
class FileSource {
public:
  FilePiece read(const SendPiece& wanted);
  // Removes a file that the leader has copied, unless the path now leads to another file than was
  // read: then both see the same disk after all.
  void drop(const DropFile& whole);
  // Removes the folders that drop() has emptied, once nobody will write there.
  void remove_empty_folders();

private:
  using Identity = std::pair<unsigned long, unsigned long>; // device and inode
  std::map<std::string, Identity> read_;
  std::set<std::string> folders_;
};

} // namespace ncclprobe::launch
