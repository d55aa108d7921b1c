# Bundles the page's script and style, and writes their SHA-256:
#   cmake -DESBUILD=/usr/bin/esbuild -DD3=/usr/share/nodejs -DOUTPUT=folder -P bundle.cmake
foreach(pair script=main.ts style=style.css)
  string(REPLACE = ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 source)
  get_filename_component(suffix ${source} EXT)
  string(REPLACE .ts .js suffix ${suffix})
  # Pure ASCII, so that no byte order mark and no encoding changes the hash.
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${D3} ${ESBUILD} ${CMAKE_CURRENT_LIST_DIR}/${source} --bundle --minify
      --format=iife --target=es2020 --charset=ascii --legal-comments=eof --log-level=warning
      --outfile=${OUTPUT}/${name}${suffix}
    COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${OUTPUT}/${name}${suffix} text)
  if(text MATCHES "</(script|style)")
    message(FATAL_ERROR "${source}: its bundle would end the element that contains it")
  endif()
  file(SHA256 ${OUTPUT}/${name}${suffix} hash)
  file(WRITE ${OUTPUT}/${name}_hash.txt "${hash}")
endforeach()
