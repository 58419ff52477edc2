#include "kernel/codegen_llvm/image.h"

#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <cstring>

#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

using llvm::object::ELFSectionRef;
using llvm::object::SectionRef;
using llvm::object::SymbolRef;

template <class T>
T checked(llvm::Expected<T> value) {
  CHECK(value) << llvm::toString(value.takeError());
  return std::move(*value);
}

class Linker {
 public:
  explicit Linker(std::string_view object)
      : file_(checked(llvm::object::ObjectFile::createELFObjectFile(
            llvm::MemoryBufferRef({object.data(), object.size()}, "kernels")))) {}

  Image run() {
    for (const SectionRef& section : file_->sections()) place(section);
    for (const SectionRef& section : file_->sections()) relocate(section);
    for (const SymbolRef& symbol : file_->symbols())
      if (checked(symbol.getType()) == SymbolRef::ST_Function)
        image_.functions[checked(symbol.getName()).str()] = static_cast<int64_t>(offset_of(symbol));
    return std::move(image_);
  }

 private:
  /// Nobody unwinds through kernels: their frames need no description.
  static bool is_loaded(const SectionRef& section) {
    return (ELFSectionRef(section).getFlags() & llvm::ELF::SHF_ALLOC) && checked(section.getName()) != ".eh_frame";
  }

  void place(const SectionRef& section) {
    if (!is_loaded(section)) return;
    const ELFSectionRef elf(section);
    const llvm::StringRef name = checked(section.getName());
    CHECK(!(elf.getFlags() & llvm::ELF::SHF_WRITE) && elf.getType() == llvm::ELF::SHT_PROGBITS) << name.str();
    const uint64_t alignment = std::max<uint64_t>(section.getAlignment().value(), 1);
    CHECK(alignment <= kImageAlignment) << name.str() << " is aligned to " << alignment;
    const uint64_t start = (image_.bytes.size() + alignment - 1) / alignment * alignment;
    const llvm::StringRef contents = checked(section.getContents());
    image_.bytes.resize(start + contents.size());
    std::copy(contents.bytes_begin(), contents.bytes_end(), reinterpret_cast<uint8_t*>(image_.bytes.data() + start));
    starts_[section.getIndex()] = start;
  }

  uint64_t offset_of(const SymbolRef& symbol) const {
    const auto section = checked(symbol.getSection());
    CHECK(section != file_->section_end()) << "an import: " << checked(symbol.getName()).str();
    return starts_.at(section->getIndex()) + checked(symbol.getValue());
  }

  /// All distances within the image stay what they are wherever it is mapped.
  void relocate(const SectionRef& section) {
    const auto target = checked(section.getRelocatedSection());
    if (target == file_->section_end() || !is_loaded(*target)) return;
    for (const llvm::object::ELFRelocationRef relocation : section.relocations()) {
      const uint64_t type = relocation.getType();
      CHECK(type == llvm::ELF::R_X86_64_PC32 || type == llvm::ELF::R_X86_64_PLT32) << "a relocation of type " << type;
      const uint64_t place = starts_.at(target->getIndex()) + relocation.getOffset();
      const auto distance =
          static_cast<int64_t>(offset_of(*relocation.getSymbol()) + checked(relocation.getAddend()) - place);
      const auto field = static_cast<int32_t>(distance);
      CHECK(field == distance) << "an image of more than 2 GiB";
      std::memcpy(image_.bytes.data() + place, &field, sizeof field);
    }
  }

  std::unique_ptr<llvm::object::ObjectFile> file_;
  std::map<uint64_t, uint64_t> starts_;  ///< of sections, by index
  Image image_;
};

}  // namespace

Image link(std::string_view object) { return Linker(object).run(); }

}  // namespace isomer::kernel::codegen
