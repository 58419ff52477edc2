// Class H: weights beside the model, at places that are not the model's to read.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <stdexcept>

#include "hostile/bytes.h"
#include "hostile/case.h"
#include "support/files.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

using Surround = std::function<void(const fs::path&)>;

std::string entry(const std::string& key, const std::string& value) {
  return bytes_field(13, bytes_field(1, key) + bytes_field(2, value));
}

/// A float32[4] beside the model, with these entries of external_data.
std::string tensor(const std::string& entries) {
  return bytes_field(8, "w") + number_field(2, 1) + number_field(1, 4) + number_field(14, 1) + entries;
}

std::string with_initializer(const std::string& entries) {
  return from_notation("y = Identity(w)") + bytes_field(7, bytes_field(5, tensor(entries)));
}

HostileCase outside(std::string name, std::string sentence, const std::string& entries, Surround surround = nullptr) {
  return {std::move(name), [bytes = with_initializer(entries)] { return bytes; }, std::move(sentence),
          std::move(surround)};
}

HostileCase at(std::string name, std::string sentence, const std::string& location, Surround surround = nullptr) {
  return outside(std::move(name), std::move(sentence), entry("location", location), std::move(surround));
}

const std::string kSixteenBytes = "0123456789abcdef";

void write_weights(const fs::path& folder) { write_file(folder / "w.bin", kSixteenBytes); }

/// The secret that no case may reach, beside the model's folder.
fs::path write_secret(const fs::path& folder) {
  const fs::path secret = folder.parent_path() / "secret.bin";
  write_file(secret, kSixteenBytes);
  return secret;
}

void check(int result) {
  if (result != 0) throw std::runtime_error("can't lay out a hostile folder");
}

std::vector<HostileCase> paths() {
  using namespace std::string_literals;
  const std::string relative = "a relative path of a file beneath the model's folder expected";
  const std::string leaves = "a path that stays in the model's folder expected, one that leaves it found";
  return {
      at("file", "", "w.bin", write_weights),
      at("file_in_folder", "", "data/./w.bin",
         [](const fs::path& folder) {
           fs::create_directory(folder / "data");
           write_weights(folder / "data");
         }),
      at("file_missing", "a readable file expected", "nothing.bin", write_weights),
      at("parent", relative, "../secret.bin", write_secret),
      at("parent_and_back", "", "a/../w.bin", write_weights),
      at("parent_twice", relative, "a/../../secret.bin", write_secret),
      at("parent_alone", relative, ".."),
      at("parent_at_end", relative, "a/.."),
      at("absolute", relative, "/etc/passwd"),
      at("proc_mem", relative, "/proc/self/mem"),
      at("dev_zero", relative, "/dev/zero"),
      at("root", relative, "/"),
      at("location_empty", relative, ""),
      at("dot", relative, "."),
      at("trailing_slash", relative, "w.bin/", write_weights),
      at("trailing_dot", relative, "w.bin/.", write_weights),
      at("zero_byte", relative, "w.bin\0.txt"s),
      at("backslash", relative, "..\\secret.bin"),
      at("drive_letter", relative, "C:\\Windows\\win.ini"),
      at("uri", "a readable file expected", "file:///etc/passwd"),
      at("name_of_5000_bytes", relative, std::string(5000, 'a')),
      at("part_of_300_bytes", "a readable file expected", std::string(300, 'a'), write_weights),
      at("spaces", "a readable file expected", " ", write_weights),
      at("tilde", "a readable file expected", "~/.ssh/id_rsa", write_weights),
      at("shell", "a readable file expected", "$(touch pwned)|`id`", write_weights),
      at("line_breaks", "a readable file expected", "a\nisomer: all is well\n\x1b[31m", write_weights),
      at("broken_utf8", "a readable file expected", "\xff\xfe\x80", write_weights),
      at("folder", "a regular file expected, a folder found", "data",
         [](const fs::path& folder) { fs::create_directory(folder / "data"); }),
      at("pipe", "a regular file expected, a pipe found", "pipe",
         [](const fs::path& folder) { check(mkfifo((folder / "pipe").c_str(), 0600)); }),
      at("socket", "found", "socket",
         [](const fs::path& folder) {
           const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
           sockaddr_un address{};
           address.sun_family = AF_UNIX;
           (folder / "socket").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
           const int bound = bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
           close(made);
           check(bound);
         }),
      at("link", leaves, "w.bin",
         [](const fs::path& folder) { fs::create_symlink(write_secret(folder), folder / "w.bin"); }),
      at("link_within_folder", "", "w.bin",
         [](const fs::path& folder) {
           write_file(folder / "real.bin", kSixteenBytes);
           fs::create_symlink("real.bin", folder / "w.bin");
         }),
      at("link_to_proc_mem", leaves, "w.bin",
         [](const fs::path& folder) { fs::create_symlink("/proc/self/mem", folder / "w.bin"); }),
      at("link_to_dev_zero", leaves, "w.bin",
         [](const fs::path& folder) { fs::create_symlink("/dev/zero", folder / "w.bin"); }),
      at("link_to_nothing", "symbolic link", "w.bin",
         [](const fs::path& folder) { fs::create_symlink("nowhere", folder / "w.bin"); }),
      at("link_to_itself", "symbolic link", "w.bin",
         [](const fs::path& folder) { fs::create_symlink("w.bin", folder / "w.bin"); }),
      at("link_as_parent", leaves, "data/secret.bin",
         [](const fs::path& folder) {
           fs::create_directory_symlink(write_secret(folder).parent_path(), folder / "data");
         }),
      at("hard_link", "a file with one name expected", "w.bin",
         [](const fs::path& folder) { fs::create_hard_link(write_secret(folder), folder / "w.bin"); }),
      at("unreadable_parent", "a readable file expected", "w.bin/w.bin", write_weights),
      at("the_model_itself", "", "model.onnx",
         [](const fs::path& folder) {
           write_file(folder / "model.onnx", with_initializer(entry("location", "model.onnx")));
         }),
  };
}

std::vector<HostileCase> ranges() {
  const auto range = [](const std::string& entries) { return entry("location", "w.bin") + entries; };
  const std::string offset = "external data with an offset in decimal expected";
  const std::string length = "external data with a length in decimal expected";
  return {
      outside("offset_and_length", "", range(entry("offset", "0") + entry("length", "16")), write_weights),
      outside("offset_negative", offset, range(entry("offset", "-1")), write_weights),
      outside("offset_text", offset, range(entry("offset", "many")), write_weights),
      outside("offset_empty", offset, range(entry("offset", "")), write_weights),
      outside("offset_hexadecimal", offset, range(entry("offset", "0x10")), write_weights),
      outside("offset_with_blank", offset, range(entry("offset", " 0")), write_weights),
      outside("offset_with_plus", offset, range(entry("offset", "+0")), write_weights),
      outside("offset_float", offset, range(entry("offset", "1e1")), write_weights),
      outside("offset_2_64_plus_0", offset, range(entry("offset", "18446744073709551616")), write_weights),
      outside("offset_2_64_minus_16", "a file of 16 bytes found", range(entry("offset", "18446744073709551600")),
              write_weights),
      outside("offset_beyond_end", "a file of 16 bytes found", range(entry("offset", "17")), write_weights),
      outside("offset_at_end", "a file of 16 bytes found", range(entry("offset", "16")), write_weights),
      outside("offset_unaligned", "", range(entry("offset", "1")),
              [](const fs::path& folder) { write_file(folder / "w.bin", kSixteenBytes + "x"); }),
      outside("length_negative", length, range(entry("length", "-16")), write_weights),
      outside("length_text", length, range(entry("length", "all")), write_weights),
      outside("length_0", "", range(entry("length", "0")), write_weights),
      outside("length_short", "16 bytes expected, 15 found", range(entry("length", "15")), write_weights),
      outside("length_petabyte", "16 bytes expected", range(entry("length", "1125899906842624")), write_weights),
      outside("length_2_64_plus_16", length, range(entry("length", "18446744073709551632")), write_weights),
      outside("file_short", "a file of 15 bytes found", range(""),
              [](const fs::path& folder) { write_file(folder / "w.bin", "0123456789abcde"); }),
      outside("file_empty", "a file of 0 bytes found", range(""),
              [](const fs::path& folder) { write_file(folder / "w.bin", ""); }),
      outside("file_of_holes", "", range(entry("offset", "1099511627000")),
              [](const fs::path& folder) {
                write_weights(folder);
                fs::resize_file(folder / "w.bin", uint64_t{1} << 40);
              }),
      outside("no_location", "external data with a location expected", entry("offset", "0"), write_weights),
      outside("no_entries", "external data with a location expected", "", write_weights),
      outside("location_twice", "'location' found twice", range(entry("location", "../secret.bin")), write_weights),
      outside("offset_twice", "'offset' found twice", range(entry("offset", "0") + entry("offset", "99")),
              write_weights),
      outside("unknown_keys", "",
              range(entry("__class__", "os.system") + entry("basepath", "/etc") + entry("checksum", "0")),
              write_weights),
      outside("a_million_entries_of_nothing", "found twice", range(repeated(entry("k", ""), 1000)), write_weights),
  };
}

std::vector<HostileCase> hiding_places() {
  const std::string escape = tensor(entry("location", "../secret.bin"));
  const auto made = [&](std::string name, const std::string& bytes,
                        std::string sentence = "beneath the model's folder expected") {
    return HostileCase{std::move(name), [bytes] { return bytes; }, std::move(sentence)};
  };
  const auto attribute = [](std::string_view name, int type, const std::string& value) {
    return bytes_field(5, bytes_field(1, name) + number_field(20, static_cast<uint64_t>(type)) + value);
  };
  const auto with_node = [](const std::string& fields) {
    return from_notation("first = Relu(x: f32[2])") + bytes_field(7, bytes_field(1, fields));
  };
  const std::string example = bytes_field(8, bytes_field(1, "com.example") + number_field(2, 1));
  const std::string constant =
      bytes_field(4, "Constant") + bytes_field(2, "k") + attribute("value", 4, bytes_field(5, escape));
  const std::string indices = number_field(2, 7) + number_field(1, 4) + bytes_field(7, std::string("\0\1\2\3", 4));
  const std::string sparse = bytes_field(1, escape) + bytes_field(2, indices) + number_field(3, 4);
  const std::string body = bytes_field(6, bytes_field(1, constant) + bytes_field(12, bytes_field(1, "k")));
  const std::string function = bytes_field(1, "F") + bytes_field(10, "f") + bytes_field(5, "k") +
                               bytes_field(7, constant) + bytes_field(9, number_field(2, 17));
  const std::string call = bytes_field(4, "F") + bytes_field(7, "f") + bytes_field(2, "k");
  return {
      made("in_constant", with_node(constant)),
      made("in_sparse_initializer", from_notation("first = Relu(x: f32[2])") + bytes_field(7, bytes_field(15, sparse))),
      made("in_sparse_indices",
           from_notation("first = Relu(x: f32[2])") +
               bytes_field(7, bytes_field(15, bytes_field(1, bytes_field(8, "w") + number_field(2, 1) + number_field(1, 4) +
                                                                bytes_field(4, std::string(16, '\0'))) +
                                                  bytes_field(2, tensor(entry("location", "../secret.bin"))) + number_field(3, 4)))),
      made("in_sparse_constant", with_node(bytes_field(4, "Constant") + bytes_field(2, "k") + attribute("sparse_value", 11, bytes_field(22, sparse)))),
      made("in_tensor_attribute",
           with_node(bytes_field(4, "ConstantOfShape") + bytes_field(1, "x") + bytes_field(2, "k") + attribute("value", 4, bytes_field(5, escape)))),
      made("in_attribute_of_unknown_operator",
           with_node(bytes_field(4, "Scale") + bytes_field(7, "com.example") + bytes_field(1, "x") + bytes_field(2, "k") +
                     attribute("by", 4, bytes_field(5, escape))) + example),
      made("in_tensors_attribute",
           with_node(bytes_field(4, "Scale") + bytes_field(7, "com.example") + bytes_field(1, "x") + bytes_field(2, "k") +
                     attribute("by", 9, bytes_field(10, escape))) + example),
      made("in_body", with_node(bytes_field(4, "If") + bytes_field(1, "x") + bytes_field(2, "k") + attribute("then_branch", 5, body) +
                                attribute("else_branch", 5, body))),
      made("in_function", with_node(call) + bytes_field(8, bytes_field(1, "f") + number_field(2, 1)) + bytes_field(25, function)),
      // Never read, so never refused: what is kept for export alone.
      made("in_unused_function", with_node(bytes_field(4, "Relu") + bytes_field(1, "x") + bytes_field(2, "k")) + bytes_field(25, function), ""),
      made("in_training_graph",
           with_node(bytes_field(4, "Relu") + bytes_field(1, "x") + bytes_field(2, "k")) + bytes_field(20, bytes_field(2, bytes_field(5, escape))), ""),
      made("location_without_data_location",
           from_notation("y = Identity(w)") + bytes_field(7, bytes_field(5, bytes_field(8, "w") + number_field(2, 1) + number_field(1, 1) +
                                                                              bytes_field(9, "abcd") + entry("location", "../secret.bin"))),
           ""),
      made("and_raw_data", with_initializer(entry("location", "w.bin") + bytes_field(9, kSixteenBytes)), "data in one field expected"),
      made("of_strings",
           from_notation("y = Identity(w)") + bytes_field(7, bytes_field(5, bytes_field(8, "w") + number_field(2, 8) + number_field(1, 1) +
                                                                              number_field(14, 1) + entry("location", "w.bin"))),
           "strings in string_data expected"),
      {"two_tensors_overlap",
       [] {
         const auto place = [](const std::string& name, const std::string& begin) {
           return bytes_field(5, bytes_field(8, name) + number_field(2, 1) + number_field(1, 2) + number_field(14, 1) +
                                     entry("location", "w.bin") + entry("offset", begin));
         };
         return from_notation("y = Add(a, b)") + bytes_field(7, place("a", "0") + place("b", "4"));
       },
       "", write_weights},
      {"a_terabyte_from_holes",
       [] {
         return from_notation("y = Identity(w)") +
                bytes_field(7, bytes_field(5, bytes_field(8, "w") + number_field(2, 1) + number_field(1, uint64_t{1} << 38) +
                                                  number_field(14, 1) + entry("location", "w.bin")));
       },
       "external data of at most 2^38 bytes expected",
       [](const fs::path& folder) {
         write_weights(folder);
         fs::resize_file(folder / "w.bin", uint64_t{1} << 40);
       }},
  };
}

}  // namespace

std::vector<HostileCase> external_cases() {
  std::vector<HostileCase> cases;
  for (const auto& part : {paths(), ranges(), hiding_places()}) cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

}  // namespace isomer::test
