// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/fd.h"
#include "launch/supervisor/mpi_segment.h"
#include "support/catch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::launch;

namespace {

constexpr std::size_t k_bytes = 4096;

// A file that looks like Open MPI's, mapped by this process.
struct MappedSegment {
  explicit MappedSegment(int rank)
      : path("/dev/shm/vader_segment.test." + std::to_string(getpid()) + ".0." +
             std::to_string(rank)) {
    base::Fd file(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
    REQUIRE(::ftruncate(file.get(), k_bytes) == 0);
    memory = ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    REQUIRE(memory != MAP_FAILED);
  }
  ~MappedSegment() {
    ::munmap(memory, k_bytes);
    ::unlink(path.c_str());
  }
  MappedSegment(const MappedSegment&) = delete;

  std::filesystem::path path;
  void* memory = nullptr;
};

} // namespace

TEST_CASE("the name of the own segment goes and comes back, the memory stays") {
  MappedSegment peer(10), own(0);

  MpiSegment segment(0);
  REQUIRE(segment.path() == own.path);
  segment.remove_name();
  bool gone = !std::filesystem::exists(own.path);
  static_cast<char*>(own.memory)[0] = 1; // would be fatal without it
  segment.restore_name();

  CHECK(gone);
  CHECK(std::filesystem::exists(own.path));
  CHECK(std::filesystem::exists(peer.path));
}

TEST_CASE("without such a segment nothing is removed or made") {
  MappedSegment peer(1);

  MpiSegment segment(0);
  segment.remove_name();
  segment.restore_name();

  CHECK(segment.path().empty());
  CHECK(std::filesystem::exists(peer.path));
}
