"""How the page looks: one column that reads on a telephone, in the dark and on paper. No font, script or picture from elsewhere."""

STYLE = """
:root{color-scheme:light dark;--ink:#1c1f23;--soft:#5b636b;--line:#d9dee3;--paper:#fff;--card:#f5f7f9;--good:#0b6b48;
--goodbg:#e2f3eb;--bad:#b00020;--badbg:#fdecee;--accent:#0059a8;--gate:#b00020;--floor:#f0e442;--rung:#b9bec4;
--reference:#1c1f23;--native:#0072b2;--graph:#d55e00;--remote:#8a4f7d;--oracle:#00785a}
@media (prefers-color-scheme:dark){:root{--ink:#e7eaee;--soft:#a3abb5;--line:#3a424b;--paper:#14171b;--card:#1d2227;
--good:#7fd6ae;--goodbg:#12362a;--bad:#ff9aa5;--badbg:#431a20;--accent:#7db9f0;--gate:#ff6b7d;--floor:#7a742a;--rung:#59626c;
--reference:#e7eaee;--native:#56b4e9;--graph:#ff9554;--remote:#d9a3cb;--oracle:#4fd0a5}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1.5rem clamp(.9rem,4vw,2rem) 4rem;max-width:70rem;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
a{color:var(--accent)} a:focus-visible,.scroll:focus-visible,summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.skip{position:absolute;left:-100vw} .skip:focus{left:1rem}
h1{font-size:clamp(1.35rem,4vw,1.9rem);line-height:1.25;margin:.2rem 0 .6rem}
h2{font-size:1.25rem;line-height:1.3;margin:2.8rem 0 .6rem;padding-top:.9rem;border-top:1px solid var(--line);scroll-margin-top:.5rem}
h3{font-size:1.02rem;margin:1.6rem 0 .3rem}
p{margin:.5rem 0;max-width:46rem} ul{margin:.4rem 0;padding-left:1.2rem} li{margin:.25rem 0}
.quiet,figcaption,caption{color:var(--soft);font-size:.86rem}
.badge{display:inline-block;padding:.3rem 1rem;border-radius:2rem;font-weight:700;letter-spacing:.05em;border:1px solid currentColor}
.badge.pass{color:var(--good);background:var(--goodbg)} .badge.fail{color:var(--bad);background:var(--badbg)}
.ok{color:var(--good)} .bad{color:var(--bad);font-weight:700}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:.9rem;margin:1rem 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.8rem 1rem}
.card h2{font-size:.82rem;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:0 0 .3rem;padding:0;border:0}
.card.alert{border-color:var(--bad);background:var(--badbg)}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,11rem),1fr));gap:.5rem 1.4rem;margin:.8rem 0}
.facts div{min-width:0} dt{color:var(--soft);font-size:.82rem} dd{margin:0;font-variant-numeric:tabular-nums}
nav ul{columns:3 11rem;list-style:none;padding:0} nav{margin:1.2rem 0} nav a{text-decoration:none} nav a:hover{text-decoration:underline}
.scroll{overflow-x:auto;margin:.7rem 0}
table{border-collapse:collapse;min-width:min(100%,24rem);font-size:.86rem;line-height:1.4}
caption{text-align:left;padding:0 0 .3rem} th,td{unicode-bidi:isolate;text-align:left;vertical-align:top;padding:.28rem .9rem .28rem 0;
border-bottom:1px solid var(--line);overflow-wrap:break-word;max-width:26rem}
th{font-weight:600;vertical-align:bottom} .number{text-align:right;font-variant-numeric:tabular-nums} td.number,td.narrow{white-space:nowrap}
td.number{unicode-bidi:normal}
tr.failed td{color:var(--bad);font-weight:600} tr.strong td{font-weight:600}
code,pre{font:.86em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace} pre{background:var(--card);border:1px solid var(--line);
border-radius:.4rem;padding:.6rem .8rem;overflow-x:auto;white-space:pre-wrap}
figure{margin:1.1rem 0} img{display:block;max-width:100%;max-height:62rem;width:auto;height:auto;background:#fff;border-radius:.3rem}
svg{display:block;max-width:100%;height:auto} svg text{fill:var(--ink);font:12px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
svg .soft{fill:var(--soft)} details{margin:.6rem 0} summary{cursor:pointer;color:var(--accent)}
.wide svg{min-width:44rem} .gallery{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:0 1.4rem}
footer{margin-top:3rem;border-top:1px solid var(--line);padding-top:.8rem}
@media print{:root{color-scheme:light;--ink:#000;--soft:#444;--line:#bbb;--paper:#fff;--card:#fff;--good:#0b6b48;--goodbg:#fff;--bad:#b00020;
--badbg:#fff;--accent:#000;--gate:#b00020;--floor:#f0e442;--rung:#b9bec4;--reference:#000;--native:#0072b2;--graph:#d55e00;--remote:#8a4f7d;
--oracle:#00785a} body{font-size:10.5pt;max-width:none;padding:0} nav,.skip{display:none} h2{break-after:avoid} figure,tr,.card{break-inside:avoid}
.scroll{overflow:visible} table{font-size:8.5pt;width:100%} details::details-content{content-visibility:visible;block-size:auto} @page{margin:14mm}}
"""
