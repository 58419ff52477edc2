# isomer_test(NAME SOURCES file... [LIBS target...] [SHARDS n] [SECONDS n] [LONG])
#
# One gtest executable (bin/tests/NAME), registered as the ctest test NAME; SHARDS splits it into n ctest tests that run
# side by side. SECONDS is what each of them takes, about: in the first run of a build the longest begin first, so that no
# core waits for the last one (later ctest knows what they took). LONG registers it once more as NAME_long, label `long`,
# with ISOMER_TEST_LONG=1 in its environment (tests/support/long_run.h): the counts of `make test-long`. Tests run in the
# root of the source tree.
function(isomer_test name)
  cmake_parse_arguments(arg "LONG" "SHARDS;SECONDS" "SOURCES;LIBS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "isomer_test(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tests)
  target_link_libraries(${target} PRIVATE
    ${arg_LIBS} isomer_test_support GTest::gmock GTest::gtest_main isomer_warnings)

  isomer_register_shards(${name} ${target} "${arg_SHARDS}" "" "")
  if(arg_SECONDS)
    get_property(tests DIRECTORY PROPERTY TESTS)
    list(FILTER tests INCLUDE REGEX "^${name}(_[0-9]+)?$")
    set_tests_properties(${tests} PROPERTIES COST ${arg_SECONDS})
  endif()
  if(arg_LONG)
    isomer_register_shards(${name}_long ${target} "${arg_SHARDS}" "ISOMER_TEST_LONG=1" "long")
  endif()
endfunction()

# Registers `target` with ctest as NAME, or as NAME_0 ... NAME_(shards-1).
function(isomer_register_shards name target shards environment label)
  if(NOT shards)
    set(shards 1)
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(shards GREATER 1)
      set(test ${name}_${shard})
    endif()
    add_test(NAME ${test} COMMAND ${target} --gtest_brief=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${test} PROPERTIES
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard};${environment}"
      LABELS "${label}"
      TIMEOUT 3600)
  endforeach()
endfunction()

# isomer_fuzzer(NAME SOURCES file... [LIBS target...]): a libFuzzer executable, bin/fuzz/NAME. Nothing without ISOMER_FUZZ.
function(isomer_fuzzer name)
  if(NOT ISOMER_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(fuzz_${name} ${arg_SOURCES})
  set_target_properties(fuzz_${name} PROPERTIES
    OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fuzz)
  target_link_libraries(fuzz_${name} PRIVATE ${arg_LIBS} isomer_warnings)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()
