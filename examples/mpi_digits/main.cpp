// SPDX-License-Identifier: MIT
// Reads handwritten digits on several processes, with the network of ../digits. Rank 0 reads the
// files. Every rank gets the weights (bcast) and its share of the images (scatter), as even as can
// be; rank 0 gets their answers (gather) and counts which are right.
//
//     mpirun -n 4 mpi_digits [folder with the .npy files]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "files.h"
#include "network.h"
#include "tenon/interop/mpi.h"  // brings mpi.h
#include "tenon/tenon.h"

using tenon::check;
using tenon::ScalarType;
using tenon::Tensor;
using tenon::TensorPtr;

constexpr int kRoot = 0;
constexpr double kLowestAccuracy = 0.95;

/// What folder/name.npy holds, which the root reads and sends to all.
Tensor share(tenon::mpi::Communicator& comm, const std::string& folder, const char* name,
             const tenon::Dims& sizes) {
  const TensorPtr tensor =
      comm.rank() == kRoot ? load(folder, name, ScalarType::Float, sizes) : tenon::empty(sizes);
  check(comm.bcast(tensor, kRoot));
  return *tensor;
}

/// Images that the network has never seen, one after another, and what they show.
struct HeldOut {
  TensorPtr images;
  TensorPtr labels;
};

HeldOut read_held_out(const std::string& folder) {
  const TensorPtr images = load(folder, "images", ScalarType::Byte, {-1, kSide, kSide});
  const TensorPtr labels = load(folder, "labels", ScalarType::Byte, {images->size(0)});
  const TensorPtr index = load(folder, "test_index", ScalarType::Int, {-1});
  HeldOut held_out{tenon::empty({index->size(0), kSide, kSide}, ScalarType::Byte),
                   tenon::empty({index->size(0)}, ScalarType::Byte)};
  int64_t to = 0;
  for (const int32_t from : index->data<const int32_t>()) {
    check(copy_(select(held_out.images, 0, to), select(images, 0, from)));
    check(copy_(select(held_out.labels, 0, to), select(labels, 0, from)));
    ++to;
  }
  return held_out;
}

/// The digit with the highest score, for each image.
TensorPtr best_digits(const Tensor& scores) {
  TensorPtr digits = tenon::empty({scores.size(0)}, ScalarType::Byte);
  const auto score = scores.accessor<const float, 2>();
  auto* digit = digits->mutable_data_ptr<uint8_t>();
  for (int64_t n = 0; n < scores.size(0); ++n) {
    const float* const first = score[n].data();
    *digit++ = static_cast<uint8_t>(std::max_element(first, first + kDigits) - first);
  }
  return digits;
}

int run(const std::string& folder) {
  tenon::mpi::Communicator comm(MPI_COMM_WORLD);
  const bool is_root = comm.rank() == kRoot;
  const Network network{
      {share(comm, folder, "w1", {kHidden, kPixels}), share(comm, folder, "b1", {kHidden})},
      {share(comm, folder, "w2", {kDigits, kHidden}), share(comm, folder, "b2", {kDigits})},
      *tenon::empty({kPixels}),
      *tenon::empty({kHidden})};

  // Only the root knows how many images there are.
  HeldOut held_out;
  if (is_root) held_out = read_held_out(folder);
  const TensorPtr count = tenon::scalar_tensor(is_root ? held_out.images->size(0) : 0);
  check(comm.bcast(count, kRoot));
  const auto images_in_all = count->item<int64_t>();

  // Bytes travel, floats are what the network reads.
  const int64_t mine = tenon::mpi::part(images_in_all, comm.size(), comm.rank()).size;
  const TensorPtr images = tenon::empty({mine, kSide, kSide}, ScalarType::Byte);
  check(comm.scatter(held_out.images, images, kRoot));
  const TensorPtr scores = tenon::empty({mine, kDigits});
  network.run(to(images, ScalarType::Float), *scores);

  TensorPtr answers;
  if (is_root) answers = tenon::empty({images_in_all}, ScalarType::Byte);
  check(comm.gather(best_digits(*scores), answers, kRoot));
  if (!is_root) return 0;

  int64_t right = 0;
  for (int64_t n = 0; n < images_in_all; ++n) {
    right += answers->const_data_ptr<uint8_t>()[n] == held_out.labels->const_data_ptr<uint8_t>()[n];
  }
  const double accuracy = static_cast<double>(right) / static_cast<double>(images_in_all);
  std::printf("  %d of %d held-out images right: %.2f %%\n", static_cast<int>(right),
              static_cast<int>(images_in_all), 100 * accuracy);
  std::printf("  read by %d ranks:", comm.size());
  for (int r = 0; r < comm.size(); ++r) {
    std::printf(" %d", static_cast<int>(tenon::mpi::part(images_in_all, comm.size(), r).size));
  }
  std::printf("\n");
  return accuracy >= kLowestAccuracy ? 0 : 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int result = 1;
  try {
    result = run(argc > 1 ? argv[1] : DIGITS_DATA_DIR);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_digits: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);  // the other ranks would wait for this one
  }
  MPI_Finalize();
  return result;
}
