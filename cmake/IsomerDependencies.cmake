# Everything comes from the distribution (scripts/setup.sh). A folder links only what it uses: DESIGN.md, "The ladder".

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(Z3 4.8 REQUIRED)
find_package(LLVM 19.1 REQUIRED CONFIG)
if(ISOMER_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(benchmark 1.7 REQUIRED)
  find_package(Boost 1.74 REQUIRED COMPONENTS context)
  find_package(ONNX 1.12 CONFIG REQUIRED)
endif()

message(STATUS "LLVM ${LLVM_PACKAGE_VERSION}, Z3 ${Z3_VERSION}, protobuf ${Protobuf_VERSION}, Boost ${Boost_VERSION_STRING}")
