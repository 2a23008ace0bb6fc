// SPDX-License-Identifier: Apache-2.0
// Sets that are read, and every bad one refused in one line that names file and tensor.

#include <hyperparallel/checkpoint/tensor_set.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/model_files.hpp"

namespace rs = hyperparallel::reshard;
namespace fs = std::filesystem;

namespace {

using namespace checkpoint_test;

std::string complaint(const std::string& path) {
  try {
    rs::detail::open_tensor_set(path);
  } catch (const hp::io_error& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
  return "";
}

/// Two files with an index of a model.
class TensorSet : public ::testing::Test {
 protected:
  TensorSet() {
    std::mt19937_64 random(1);
    write_file(at.path("m/one.safetensors"),
               {{"a", random_tensor(random, "F32", {4})}, {"b", random_tensor(random, "I8", {3})}});
    write_file(at.path("m/two.safetensors"), {{"c", random_tensor(random, "BF16", {2, 2})}});
    write_file(at.path("outside.safetensors"), {{"c", random_tensor(random, "BF16", {2, 2})}});
    index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"})");
  }
  void index(const std::string& map, const std::string& total = "27") {
    at.put("m/model.safetensors.index.json",
           R"({"metadata": {"total_size": )" + total + R"(}, "weight_map": )" + map + "}");
  }
  std::string told() { return complaint(at.path("m")); }
  bool tells(const std::string& part) {
    const std::string all = told();
    if (all.find(part) == std::string::npos) ADD_FAILURE() << all << "\nexpected " << part;
    return true;
  }
  io_test::workplace at;
};

TEST_F(TensorSet, AnIndexNamesTensorsAndTheirFiles) {
  ASSERT_EQ(told(), "");
  const rs::tensor_set s = rs::detail::open_tensor_set(at.path("m"));
  ASSERT_EQ(s.files.size(), 2u);
  EXPECT_EQ(s.files[0].name, "one.safetensors");
  EXPECT_EQ(s.files[1].tensors[0].name, "c");
  EXPECT_FALSE(s.files[1].checksums.empty());
}

TEST_F(TensorSet, FilesOutsideTheFolderAreRefused) {
  index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "../outside.safetensors"})");
  tells("names the file '../outside.safetensors', which lies outside the folder");
  index(R"({"c": ")" + at.path("outside.safetensors") + R"("})");
  tells("lies outside the folder");
  index(R"({"c": "x/../two.safetensors"})");
  tells("lies outside the folder");
  index(R"({"c": ""})");
  tells("lies outside the folder");
  index(R"({"c": "..\\two.safetensors"})");
  tells("lies outside the folder");
  fs::create_symlink(at.path("outside.safetensors"), at.path("m/link.safetensors"));
  index(R"({"c": "link.safetensors"})");
  tells("its file 'link.safetensors' is a link that leads outside the folder");
}

TEST_F(TensorSet, LinksOutOfTheFolderAreRefusedWithoutAnIndexToo) {
  const auto told_of = [&](const std::string& name, const std::string& target) {
    fs::remove_all(at.path("l"));
    fs::create_directories(fs::path(at.path("l/" + name)).parent_path());
    fs::create_symlink(target, at.path("l/" + name));
    return complaint(at.path("l"));
  };
  for (const char* name :
       {"x.safetensors", "mp_rank_00/x.safetensors", "x.safetensors.index.json", rs::detail::set_manifest})
    EXPECT_EQ(told_of(name, at.path("outside.safetensors")),
              "cannot read '" + at.path("l") + "': its file '" + name + "' is a link that leads outside the folder");
  fs::remove_all(at.path("l"));
  fs::create_directories(at.path("l"));
  ASSERT_EQ(::mkfifo(at.path("l/hyperparallel_set.json").c_str(), 0600), 0);
  EXPECT_EQ(complaint(at.path("l")),
            "cannot read '" + at.path("l/hyperparallel_set.json") + "': it is no regular file");
  EXPECT_EQ(rs::detail::path_beside(at.path("m"), "config.json"), "");
  fs::create_symlink(at.path("outside.safetensors"), at.path("m/config.json"));
  EXPECT_THROW(rs::detail::path_beside(at.path("m"), "config.json"), hp::io_error);
}

TEST_F(TensorSet, BlobsOfHuggingFacesCacheAreRead) {
  fs::create_directories(at.path("hub/models--x/blobs"));
  fs::create_directories(at.path("hub/models--x/snapshots/123"));
  fs::copy(at.path("outside.safetensors"), at.path("hub/models--x/blobs/abc"));
  fs::create_symlink("../../blobs/abc", at.path("hub/models--x/snapshots/123/two.safetensors"));
  at.put("hub/models--x/blobs/def", R"({"weight_map": {"c": "two.safetensors"}})");
  fs::create_symlink("../../blobs/def", at.path("hub/models--x/snapshots/123/model.safetensors.index.json"));
  EXPECT_EQ(complaint(at.path("hub/models--x/snapshots/123")), "");
}

TEST_F(TensorSet, IndexesThatSayOtherThanFilesAreRefused) {
  index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors", "d": "two.safetensors"})");
  tells("tensor 'd' is said to be in 'two.safetensors', which lacks it");
  index(R"({"a": "one.safetensors", "c": "two.safetensors"})");
  tells("tensor 'b' of 'one.safetensors' is not in the index");
  index(R"({"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"})");
  tells("tensor 'b' is said to be in 'two.safetensors', it is in 'one.safetensors'");
  index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"})", "28");
  tells("'total_size' is 28 bytes, the tensors have 27");
  index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"})", "\"x\"");
  tells("is no number of bytes");
  index(R"({"a": 3})");
  tells("is no name of a file");
  index("[]");
  tells("no object 'weight_map'");
  index(R"({"a": "none.safetensors"})");
  tells("No such file");
  at.put("m/model.safetensors.index.json", "");
  tells("the file is empty");
  at.put("m/model.safetensors.index.json", "{");
  tells("is not JSON");
}

TEST_F(TensorSet, ATensorInTwoFilesIsRefused) {
  write_file(at.path("m/two.safetensors"), {{"c", {"I8", {1}, "x"}}, {"a", {"I8", {1}, "x"}}});
  tells("tensor 'a' is in 'one.safetensors', too");
}

TEST_F(TensorSet, FilesThatAreCutAreRefused) {
  const std::string whole = at.get("m/one.safetensors");
  for (std::size_t n = 0; n < whole.size(); n += n < 300 ? 7 : 1) {
    at.put("m/one.safetensors", whole.substr(0, n));
    EXPECT_NE(told(), "") << n;
  }
}

TEST_F(TensorSet, PicklesAreRefusedByName) {
  for (const char* name : {"pytorch_model.bin", "model.pt", ".metadata", "__0_0.distcp"}) {
    fs::create_directories(at.path("p"));
    at.put(std::string("p/") + name, "x");
    EXPECT_NE(complaint(at.path("p")).find("pickle"), std::string::npos);
    EXPECT_NE(complaint(at.path(std::string("p/") + name)).find("safetensors.torch.save_file"), std::string::npos);
    fs::remove_all(at.path("p"));
  }
  fs::create_directories(at.path("p/mp_rank_00"));
  at.put("p/mp_rank_00/model_optim_rng.pt", "x");
  EXPECT_NE(complaint(at.path("p")).find("model_optim_rng.pt': a pickle"), std::string::npos);
  EXPECT_NE(complaint(at.path("nothing")).find("No such file"), std::string::npos);
  fs::create_directories(at.path("empty"));
  EXPECT_NE(complaint(at.path("empty")).find("no .safetensors file and no index"), std::string::npos);
}

}  // namespace
