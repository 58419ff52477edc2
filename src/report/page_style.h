// How a report looks, and its keys.
#pragma once

#include <string_view>

namespace isomer::report {

inline constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--ink:#1d2330;--paper:#fff;--soft:#f3f5f9;--line:#cfd6e4;--gone:#c7362f;--new:#1c8a4a;--changed:#b07400;--accent:#2f62d9}
@media(prefers-color-scheme:dark){:root:not([data-theme=light]){--ink:#e5e9f2;--paper:#14171f;--soft:#1e232e;--line:#3a4356;--gone:#ff7b72;--new:#56d38a;--changed:#e3b341;--accent:#7aa2ff}}
:root[data-theme=dark]{color-scheme:dark;--ink:#e5e9f2;--paper:#14171f;--soft:#1e232e;--line:#3a4356;--gone:#ff7b72;--new:#56d38a;--changed:#e3b341;--accent:#7aa2ff}
:root[data-theme=light]{color-scheme:light}
*{box-sizing:border-box}
body{margin:0;font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
header{display:flex;align-items:center;gap:1rem;padding:.6rem 1.2rem;border-bottom:1px solid var(--line)}
h1{font-size:1.15rem;margin:0;flex:1;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:1.6rem 0 .5rem}
main{max-width:1500px;margin:0 auto;padding:0 1.2rem 3rem}
button{font:inherit;border:1px solid var(--line);border-radius:6px;background:var(--soft);color:inherit;padding:.1rem .6rem}
#summary{display:flex;flex-wrap:wrap;gap:.8rem;margin-top:1.2rem}
.tile{background:var(--soft);border:1px solid var(--line);border-radius:8px;padding:.6rem .9rem;min-width:11rem;max-width:26rem}
.tile span,.tile small{display:block;opacity:.75}.tile strong{font-size:1.15rem}
kbd{border:1px solid var(--line);border-radius:4px;padding:0 .3rem;background:var(--soft)}
#filter{width:100%;max-width:30rem;font:inherit;padding:.3rem .6rem;margin-bottom:.6rem}
.change{border:1px solid var(--line);border-radius:8px;margin:.4rem 0;content-visibility:auto}
.change summary{padding:.45rem .8rem;cursor:pointer;overflow-wrap:anywhere}.change summary:focus-visible{outline:2px solid var(--accent)}
.sides{display:flex;flex-wrap:wrap;gap:1rem;padding:.4rem .8rem 1rem}
figure{margin:0;flex:1 1 20rem;overflow:auto;background:var(--soft);border-radius:6px;padding:.5rem}figcaption{opacity:.75}
svg{display:block;margin:0 auto;max-width:none}svg text{font:12px ui-monospace,monospace;text-anchor:middle;fill:var(--ink)}svg text.title{font-weight:700}
.node rect{fill:var(--paper);stroke:var(--line);stroke-width:1.5}.node.gone rect{stroke:var(--gone)}.node.new rect{stroke:var(--new)}.node.changed rect{stroke:var(--changed)}
.node.value rect{fill:none;stroke-dasharray:3 3}.edge{fill:none;stroke:var(--ink);opacity:.45;stroke-width:1.3}
table{border-collapse:collapse;width:100%;display:block;overflow-x:auto}th,td{text-align:left;vertical-align:top;padding:.3rem .7rem;border-bottom:1px solid var(--line)}
.statement{font:12px ui-monospace,monospace;opacity:.8;overflow-wrap:anywhere;max-width:60rem}code{font-size:12.5px;overflow-wrap:anywhere}td code{display:inline-block;min-width:11rem}
.runs{width:20rem;height:3rem}.runs rect{fill:var(--accent)}
.bar{display:inline-block;margin-right:.5rem;width:8rem;height:.7rem;background:var(--soft);border:1px solid var(--line);border-radius:4px}.bar i{display:block;height:100%;background:var(--accent);border-radius:3px}
)css";

inline constexpr std::string_view kScript = R"js(
const changes=[...document.querySelectorAll('.change')];let at=-1;
const shown=()=>changes.filter(c=>!c.hidden);
document.getElementById('theme').onclick=()=>{const r=document.documentElement,dark=r.dataset.theme?r.dataset.theme==='dark':matchMedia('(prefers-color-scheme:dark)').matches;r.dataset.theme=dark?'light':'dark'};
const filter=document.getElementById('filter');
if(filter)filter.oninput=()=>{const w=filter.value.toLowerCase();for(const c of changes)c.hidden=w!==''&&!c.textContent.toLowerCase().includes(w);at=-1};
document.addEventListener('keydown',e=>{if(e.target===filter||e.ctrlKey||e.metaKey||e.altKey)return;const list=shown();
if(e.key==='t')document.getElementById('theme').click();
if((e.key==='j'||e.key==='k')&&list.length){at=Math.max(0,Math.min(list.length-1,at+(e.key==='j'?1:-1)));const s=list[at].querySelector('summary');s.focus();s.scrollIntoView({block:'nearest'})}});
)js";

}  // namespace isomer::report
