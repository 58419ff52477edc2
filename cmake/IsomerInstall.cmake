# What is installed: the headers, libisomer.so for artifacts (isomer::runtime), and the C++ library (isomer::isomer),
# static with all that it is made of. `cmake --install build --prefix FOLDER`, then find_package(isomer).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/isomer)
set(parts isomer_util isomer_backends isomer_runtime isomer_c isomer_graph isomer_onnx_proto isomer_passes
  isomer_proof isomer_check isomer_prover isomer_laws isomer_replay isomer_rewrite isomer_discover isomer_library
  isomer_derivation isomer_kernel isomer_nvrtc isomer_codegen_cuda isomer_codegen isomer_measure isomer_tune
  isomer_tasks isomer_code isomer_cost isomer_strategies isomer_search isomer_mutate isomer_version isomer_check_json
  isomer_gpu_peers isomer_onednn isomer_onnxruntime isomer_report isomer_driver)
foreach(part ${parts})
  # How ours are compiled is nobody else's business.
  get_target_property(links ${part} INTERFACE_LINK_LIBRARIES)
  if(links)
    list(REMOVE_ITEM links "$<LINK_ONLY:isomer_warnings>")
    set_target_properties(${part} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endforeach()
set_target_properties(isomer_driver PROPERTIES EXPORT_NAME isomer)
set_target_properties(isomer_c PROPERTIES EXPORT_NAME runtime)
install(TARGETS ${parts} EXPORT isomer-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS isomer-cubin isomer-measure RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/isomer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT isomer-targets NAMESPACE isomer:: DESTINATION ${package_folder})
configure_file(cmake/isomer-config.cmake.in ${PROJECT_BINARY_DIR}/isomer-config.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/isomer-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/isomer-config.cmake ${PROJECT_BINARY_DIR}/isomer-config-version.cmake
  DESTINATION ${package_folder})
file(RELATIVE_PATH isomer_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/isomer.pc.in ${PROJECT_BINARY_DIR}/isomer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/isomer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
